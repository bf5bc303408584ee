"""Messages mapped once more: those that outdated cells mapped, or some to compare two states.

settings  what reprocessing is configured with
job       maps ranges of offsets, under the current or an earlier state
choose    of a range, the messages of some versions only
retract   records that undo those of earlier states

The commands are `metl streams reprocess` and `metl streams diff`; they run on one machine.
"""
