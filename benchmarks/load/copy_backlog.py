"""A baseline: Spark copying a topic."""

import sys

from backlog import TOPIC
from baseline import run


def main(brokers: str, checkpoint: str, target: str) -> None:
    run(brokers, checkpoint, lambda messages: messages.select("key", "value", "headers"), TOPIC, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
