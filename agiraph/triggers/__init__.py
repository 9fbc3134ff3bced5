"""Triggers: what an agent wants to be woken by, and when; pure.

records     a trigger, its six kinds of schedule, its action, one firing of it
parsing     what people and models write, checked and made into records
timetable   time zones, alarm times and cron expressions, daylight saving included
due         when a trigger is due, and what becomes of the times that were missed
trail       which events a firing has led to: a trigger never wakes itself
book        all triggers of one agent: events and `now` in, firings out; also its form on disk
"""
