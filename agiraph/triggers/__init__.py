"""Triggers: what an agent wants to be woken by, and when; pure.

records      a trigger, its six kinds of schedule, its action, one firing of it; how it is shown
parsing      what people and models write, validated and made into records
timetable    time zones, alarm times and cron expressions, daylight saving included
due          when a trigger is due, and what becomes of the times that were missed
causality    which events a firing has led to: a trigger never wakes itself
trigger_set  all triggers of one agent: events and `now` in, firings out; its form on disk
"""
