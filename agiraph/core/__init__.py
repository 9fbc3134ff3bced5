"""The shared basis of the product: ids, domain records, turns, errors, time, money, settings."""
