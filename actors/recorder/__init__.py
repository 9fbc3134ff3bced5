"""The process `recorder`: the only writer of event logs and message logs."""
