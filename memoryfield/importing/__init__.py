"""What other programs remember, brought into a field: `import_source`, which reads every kind in `detect.KINDS`."""

from .detect import KINDS
from .importer import import_source
from .report import Imported

__all__ = ["KINDS", "Imported", "import_source"]
