"""Load stored clients in a process of its own, and print the next suggestion of each.

Each argument is the path of a JSON file, or the URL of a database. Besides Ax itself, nothing is
imported but ``heat_plugins.ax``.
"""

import json
import sys

from ax.api.client import Client
from ax.api.configs import StorageConfig
from ax.storage.sqa_store.db import init_engine_and_session_factory

import heat_plugins.ax  # noqa: F401


def load(place: str) -> Client:
    if not place.startswith("sqlite"):
        return Client.load_from_json_file(place)
    init_engine_and_session_factory(url=place, force_init=True)
    return Client.load_from_database("stored", StorageConfig(url=place))


if __name__ == "__main__":
    found = [list(load(place).get_next_trials(1).items()) for place in sys.argv[1:]]
    print(json.dumps(found))
