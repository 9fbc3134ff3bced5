"""Imports without the unused dependencies of a library."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


@contextmanager
def left_out(module: str) -> Iterator[None]:
    """Let `module` appear not to be installed in the block, unless it is imported already."""
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[module]


@contextmanager
def placeholders(modules: Sequence[str], attribute: Callable[[str], object]) -> Iterator[None]:
    """Within this block each of `modules`, and all below it, is imported as an empty module.

    `attribute` returns the value of a name in such a module. Imports after the block get the real
    modules.
    """
    finder = PlaceholderFinder(modules, attribute)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name, module in [*sys.modules.items()]:
            if isinstance(module, Placeholder):
                sys.modules.pop(name, None)


class Placeholder(ModuleType):
    """A module in the place of another one: it has every name, `*` imports none of them."""

    __all__: Sequence[str] = ()

    def __init__(self, name: str, attribute: Callable[[str], object]) -> None:
        super().__init__(name)
        self._attribute = attribute

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._attribute(name)


class PlaceholderFinder(MetaPathFinder, Loader):
    """Finds and loads placeholders."""

    def __init__(self, modules: Sequence[str], attribute: Callable[[str], object]) -> None:
        self._modules = modules
        self._attribute = attribute

    def find_spec(
        self, fullname: str, path: object = None, target: object = None
    ) -> ModuleSpec | None:
        is_ours = any(fullname == name or fullname.startswith(f"{name}.") for name in self._modules)
        return ModuleSpec(fullname, self, is_package=True) if is_ours else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Placeholder(spec.name, self._attribute)

    def exec_module(self, module: ModuleType) -> None:
        """Execute nothing: a placeholder module has no code."""
