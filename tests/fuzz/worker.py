"""A process that runs cases for another: a crash or a hang ends this one alone.

It reads a campaign and a number in each line of its input, and writes what came of the case as JSON to the
file descriptor that it was given.
"""

import importlib
import json
import os
import shutil
import sys
from pathlib import Path

from tests.fuzz.campaign import TRACEBACK, Campaign, Found

if sys.platform != "win32":
    import resource


def _limit(campaign: Campaign) -> None:
    if sys.platform != "win32":
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (campaign.memory or most, most))


def _tried(campaign: Campaign, seed: int, number: int, folder: Path) -> dict[str, str]:
    label = "no case could be made"
    folder.mkdir()
    try:
        case = campaign.case(seed, number)
        label = case.label
        found = case.run(folder)
    # What is wrong with the campaign itself must be seen, too.
    except Exception as error:
        found = Found(TRACEBACK, f"{type(error).__name__} of the campaign: {error}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {"label": label, "kind": found.kind, "detail": found.detail}


def main() -> None:
    seed, answers, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    campaigns = importlib.import_module(sys.argv[4]).CAMPAIGNS
    by_name = {campaign.name: campaign for campaign in campaigns}
    with os.fdopen(answers, "w", encoding="utf-8") as out:
        for line in sys.stdin:
            name, number = line.rstrip("\n").rsplit("/", 1)
            _limit(by_name[name])
            out.write(json.dumps(_tried(by_name[name], seed, int(number), folder / "case")) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
