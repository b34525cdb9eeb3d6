"""Where ``nci-frames`` starts: until the commands are imported, an interrupt ends the process at once."""

from nci_frames.interrupts import leave_when_interrupted

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    leave_when_interrupted()
    from nci_frames.cli import main as command_line  # noqa: PLC0415

    command_line()


if __name__ == "__main__":
    main()
