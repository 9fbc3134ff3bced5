"""What every part of the product knows: ids, records of the domain, turns, errors, time, money,
settings."""
