"""What ends a backup or a restore with a sentence."""


class Refused(Exception):
    """Nothing was changed; the sentence says why."""
