"""An end-to-end demo on a local stack, which takes three minutes.

services    three small services, each with a database and a connector of its own
traffic     random inserts, updates and deletes in their tables
programs    metl commands as subprocesses, in the background or to their end
topics      a consumer that collects the mapped records and dead letters
reconcile   checks that every change was mapped or left out on purpose, and every value is right
context     what each step of the scenario uses
scenario    the steps, each with the claim that it checks
"""
