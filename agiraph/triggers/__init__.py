"""Triggers: the events and times that wake an agent; pure.

records      a trigger, its six kinds of schedule, its action, one firing of it; its view
parsing      the input of people and models, validated and converted to records
timetable    time zones, alarm times and cron expressions, daylight saving included
due          the due times of a trigger, and the handling of missed times
causality    the events that a firing has caused: a trigger never wakes itself
trigger_set  all triggers of one agent: events and `now` in, firings out; its form on disk
"""
