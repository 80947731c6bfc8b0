"""Checks of an environment that run none of its code: what its metadata says, and whether it can run here."""

from coevo.authoring.findings import Check, Finding, failed, ok
from coevo.environments.loading import EnvironmentFolder, describe


def metadata(folder: EnvironmentFolder) -> Finding:
    """`environment.toml` agrees with the folder's name, leaves no field empty and names no option twice."""
    spec = folder.spec
    if spec.name != folder.path.name:
        return failed(f"the folder is called {folder.path.name}, its toml says name = {spec.name!r}; rename one")
    texts = {"title": spec.title, "source": spec.source, "licence": spec.licence}
    texts |= {f"splits.{name}": text for name, text in spec.splits.items()}
    texts |= {f"options.{option.name}": option.description for option in spec.options}
    if empty := [name for name, text in texts.items() if not text.strip()]:
        return failed(f"nothing is said in environment.toml under {', '.join(empty)}")
    names = [option.name for option in spec.options]
    if twice := sorted({name for name in names if names.count(name) > 1} | ({"split"} & set(names))):
        return failed(f"an option cannot be called {', '.join(twice)}: the name is taken")
    way = "grows" if spec.conversation == "grows" else "is renewed at every turn"
    options = f"{len(names)} option{'' if len(names) == 1 else 's'}"
    return ok(f"the splits {', '.join(spec.splits)}; {options}; a conversation that {way}")


def needs(folder: EnvironmentFolder) -> Finding:
    """The programs and packages that it needs are on this machine."""
    if missing := folder.missing():
        return failed(f"it needs {describe(missing)}")
    named = ", ".join(need.program or need.package for need in folder.spec.needs)
    return ok(f"found {named}" if named else "it needs nothing beyond coevo")


CHECKS = (
    Check("metadata", "environment.toml is complete and named as its folder", metadata),
    Check("needs", "the programs and packages that it needs are here", needs),
)
