import os

ON = {each for each in os.environ.get("TRY", "").split(",") if each}


def number(name: str, usual: float) -> float:
    return float(os.environ.get("TRY_" + name, usual))
