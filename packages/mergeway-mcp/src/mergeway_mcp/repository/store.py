"""The repository as a library: a `Repository` gives `Snapshot`s, each one consistent state of every file.

Nothing is watched. Each request walks the patterns and asks for the status of each file, and reads again only what has
changed (see `freshness`). When nothing has, the snapshot of the request before is given out once more, so a warm request
costs one status a file and one a folder, and nothing a record.
"""

from __future__ import annotations

import gc
import itertools
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from .config import load_configuration
from .confinement import Confinement
from .errors import RepositoryError, display_path
from .freshness import Checkpoint, Disk, FileEntry, FileMoved, FolderEntry, Look
from .globs import BadPattern, parse_pattern
from .reading import FileSystem
from .records import FileRecords, RecordFault, RecordRule, identify, is_json_name, read_records, record_rule
from .schema import Configuration, Entity
from .snapshot import EntityRecords, Snapshot

# How often a look starts over because a file changed between two readings of it.
_MAX_ATTEMPTS: Final = 5
# How long a request waits for another's loading before it asks whether it is still wanted.
_WAIT_SECONDS: Final = 0.05
# From how many records on it is worth keeping the garbage collector away from what was loaded.
_MANY_RECORDS: Final = 10_000


class _LoadedConfiguration(NamedTuple):
    """A configuration and what it was read from."""

    configuration: Configuration
    files: list[FileEntry]
    folders: list[FolderEntry]


class _Expansion(NamedTuple):
    """What one include matched, or why it cannot be evaluated."""

    rule: RecordRule
    paths: list[str]
    fault: RepositoryError | None


#: What a path that an include matched holds: records, or None where there is no file.
_Part = tuple[FileEntry, FileRecords | None]


class _World(NamedTuple):
    """What the last successful load was made of; expansions and parts by entity, parts in the order of the paths."""

    snapshot: Snapshot
    files: list[FileEntry]
    folders: list[FolderEntry]
    expansions: Mapping[str, list[_Expansion]]
    parts: Mapping[str, list[_Part]]


class Repository:
    """A repository of records on disk. Safe to use from several threads."""

    def __init__(
        self,
        root: str,
        *,
        config: str | None = None,
        confine: bool = False,
        allowed: frozenset[str] | None = None,
        system: FileSystem | None = None,
    ) -> None:
        """Name a repository; nothing is read yet.

        Args:
            root: Folder with the entry file; made absolute, links are kept.
            config: Entry file; None looks for `mergeway.yaml`, then `mergeway.yml`, in the root.
            confine: Refuse includes and links that leave the root.
            allowed: Names of the entities clients may see; None means all.
            system: Calls to the disk and the clock, for tests.
        """
        self.root = os.path.abspath(root)
        self.allowed = allowed
        self._entry = None if config is None else os.path.abspath(config)
        system = system if system is not None else FileSystem()
        self._confinement = Confinement(self.root, system) if confine else None
        self._disk = Disk(system, self._confinement)
        self._lock = threading.Lock()
        self._tickets = itertools.count(1)
        self._newest: tuple[int, Snapshot] | None = None
        self._loaded: _LoadedConfiguration | None = None
        self._world: _World | None = None
        self._records: dict[str, EntityRecords] = {}
        self._parsed = 0  # records, by the reload that runs or ran last

    def load_config(self) -> Configuration:
        """Load the configuration alone: what a server checks before it starts.

        Raises:
            RepositoryError: There is none, or it breaks a rule.
        """
        with self._lock:
            try:
                return self._configuration(Look(self._disk))
            except RepositoryError as error:
                raise error.presented(self.root, self.allowed) from None

    def snapshot(self, checkpoint: Checkpoint | None = None) -> Snapshot:
        """The repository as it is on disk now.

        Args:
            checkpoint: Called between files, and while another request is loading; what it raises is passed on and
                leaves the repository usable.

        Raises:
            RepositoryError: Configuration or records cannot be loaded, or an entity of the allow-list is gone.
        """
        ticket = next(self._tickets)
        while not self._lock.acquire(timeout=_WAIT_SECONDS):
            if checkpoint is not None:
                checkpoint()
        try:
            if self._newest is not None and self._newest[0] > ticket:
                # Another request began to look after this one came in: it has seen all that this one must see.
                return self._newest[1]
            started = next(self._tickets)
            snapshot = self._load(checkpoint)
            self._newest = (started, snapshot)
            return snapshot
        except RepositoryError as error:
            raise error.presented(self.root, self.allowed) from None
        finally:
            self._lock.release()

    def _load(self, checkpoint: Checkpoint | None) -> Snapshot:
        for _ in range(_MAX_ATTEMPTS):
            look = Look(self._disk, checkpoint)
            try:
                return self._load_once(look)
            except FileMoved:
                continue
        raise RepositoryError("files keep changing while they are read; try again when the writer is done")

    def _load_once(self, look: Look) -> Snapshot:
        world = self._world
        same_folders = world is not None and look.folders_unchanged(world.folders)
        # Asked also where a folder has changed: most files in it have not.
        if world is not None and look.files_unchanged(world.files) and same_folders:
            return world.snapshot
        del world  # a new configuration lets go of it, see there
        with _collector_at_rest() as set_aside:
            snapshot = self._reload(look, same_folders=same_folders)
            if self._parsed >= _MANY_RECORDS:
                set_aside()
            return snapshot

    def _reload(self, look: Look, *, same_folders: bool) -> Snapshot:
        self._parsed = 0
        configuration = self._configuration(look)
        missing = [name for name in sorted(self.allowed or ()) if name not in configuration.entities]
        if missing:
            raise RepositoryError(
                "the configuration no longer has an entity of the allow-list; restore it or restart the server",
                file=configuration.file,
                entity=missing[0],
            )
        # After another configuration there is no world: where there is one, it is of this configuration.
        before = self._world if same_folders else None
        expansions: Mapping[str, list[_Expansion]]
        if before is not None:
            # Patterns match by names alone, and those are what they were.
            expansions = before.expansions
        else:
            expansions = {name: self._expand(entity, look) for name, entity in configuration.entities.items()}
        uses = Counter(path for rules in expansions.values() for rule in rules for path in rule.paths)
        records: dict[str, EntityRecords] = {}
        parts: dict[str, list[_Part]] = {}
        data_files: dict[str, FileEntry] = {}
        for name, entity in configuration.entities.items():
            known = before.parts[name] if before is not None else ()
            parts[name] = self._parts(expansions[name], look, uses, known)
            records[name] = self._entity(entity, parts[name])
            data_files.update((entry.path, entry) for entry, part in parts[name] if part is not None)
        _refuse_shared_ids(configuration, records, self._records)
        loaded = self._loaded
        config_files = [] if loaded is None else loaded.files
        snapshot = Snapshot(configuration, records, self.allowed, [*config_files, *data_files.values()])
        self._records = records
        kept_files, kept_folders = (before.files, before.folders) if before is not None else ((), ())
        files = {entry.path: entry for entry in (*kept_files, *config_files, *look.seen_files.values())}
        config_folders = () if loaded is None else loaded.folders
        folders = {
            entry.path: entry for entry in (*kept_folders, *config_folders, *look.seen_folders.values())
        }
        self._disk.files = files
        self._disk.folders = folders
        self._world = _World(snapshot, list(files.values()), list(folders.values()), expansions, parts)
        return snapshot

    def _configuration(self, look: Look) -> Configuration:
        loaded = self._loaded
        if loaded is not None and look.unchanged(loaded.files, loaded.folders):
            return loaded.configuration
        # A look of its own tells which paths the configuration rests on.
        own = look.at_this_moment()
        self._loaded = None
        configuration = load_configuration(self.root, own, entry=self._entry, confinement=self._confinement)
        self._loaded = _LoadedConfiguration(
            configuration, list(own.seen_files.values()), list(own.seen_folders.values())
        )
        if self._world is not None:
            # What is read differently now need not be held beside what it is replaced by.
            self._world = None
            self._records = {}
            rules = {
                record_rule(entity, include.selector)
                for entity in configuration.entities.values()
                for include in entity.includes
            }
            for entry in self._disk.files.values():
                entry.parsed = {rule: result for rule, result in entry.parsed.items() if rule in rules}
        return configuration

    def _expand(self, entity: Entity, look: Look) -> list[_Expansion]:
        expansions: list[_Expansion] = []
        for include in entity.includes:
            rule = record_rule(entity, include.selector)
            try:
                pattern = parse_pattern(self.root, include.path)
                paths = pattern.expand(lambda folder: look.folder(folder).names)
            except BadPattern as error:
                fault = RepositoryError(
                    f"include: {error.reason}",
                    file=entity.file,
                    entity=entity.name,
                    hidden_origin=entity.in_included_file,
                )
                expansions.append(_Expansion(rule, [], fault))
            except RepositoryError as error:
                expansions.append(_Expansion(rule, [], _of_entity(error, entity.name)))
            else:
                expansions.append(_Expansion(rule, paths, None))
        return expansions

    def _parts(
        self, expansions: Iterable[_Expansion], look: Look, uses: Counter[str], before: Sequence[_Part]
    ) -> list[_Part]:
        """What the paths of an entity hold, in their order.

        Args:
            expansions: Its includes.
            look: The disk.
            uses: How often each path is still to be read.
            before: The same of the same paths at the last load, or nothing.
        """
        parts: list[_Part] = []
        unchanged = look.states if before else {}
        for expansion in expansions:
            if expansion.fault is not None:
                raise expansion.fault
            for path in expansion.paths:
                if unchanged and unchanged.get(path) is (known := before[len(parts)])[0]:
                    # Nearly every file of a reload, so this is what an edit costs beside the parse.
                    parts.append(known)
                    continue
                uses[path] -= 1
                try:
                    entry = look.file(path)
                except RepositoryError as error:
                    raise _of_entity(error, expansion.rule.entity) from None
                if entry.kind in {"missing", "folder"}:
                    parts.append((entry, None))
                    continue
                if entry.kind == "fault":
                    raise RepositoryError(entry.reason, file=path, entity=expansion.rule.entity)
                parts.append((entry, self._file(entry, expansion.rule, look, keep=uses[path] > 0)))
        return parts

    def _entity(self, entity: Entity, parts: Iterable[_Part]) -> EntityRecords:
        files = tuple(part for _, part in parts if part is not None)
        known = self._records.get(entity.name)
        if known is not None and known.entity is entity and _same(known.files, files):
            return known
        return EntityRecords(entity, files)

    def _file(self, entry: FileEntry, rule: RecordRule, look: Look, *, keep: bool) -> FileRecords:
        result = entry.parsed.get(rule)
        if result is None:
            data = look.content(entry, keep=keep)
            relative = display_path(self.root, entry.path) or entry.path
            try:
                raw = read_records(data, rule.entity, rule.selector, json_syntax=is_json_name(entry.path))
                result = identify(raw, rule, entry.path, relative)
                self._parsed += len(result.ids)
            except RecordFault as fault:
                result = RepositoryError(
                    fault.reason,
                    file=entry.path,
                    entity=rule.entity,
                    item=fault.item,
                    line=fault.line,
                    column=fault.column,
                )
            entry.parsed[rule] = result
        if isinstance(result, RepositoryError):
            raise result
        return result


@contextmanager
def _collector_at_rest() -> Iterator[Callable[[], None]]:
    """Keep the garbage collector from running, and give a way to set aside for good what was made meanwhile.

    Parsing makes many objects and no cycles. Looking for some takes up to two fifths of a large load, and once more
    afterwards: each full collection walks all records, which is a pause of a third of a second for 100,000. Records go by
    their reference counts when their file changes, set aside or not.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield gc.freeze
    finally:
        if running:
            gc.enable()


def _of_entity(error: RepositoryError, entity: str) -> RepositoryError:
    return RepositoryError(error.reason, file=error.file, entity=entity)


def _same(known: Sequence[FileRecords], files: Sequence[FileRecords]) -> bool:
    return len(known) == len(files) and all(old is new for old, new in zip(known, files, strict=True))


def _refuse_shared_ids(
    configuration: Configuration, records: Mapping[str, EntityRecords], before: Mapping[str, EntityRecords]
) -> None:
    """Refuse an identifier that two entities of one inheritance tree give to records of theirs.

    Files that were there before, in entities that were checked against each other before, are not looked into again.

    Raises:
        RepositoryError: There is such an identifier; the first in order of entity and record.
    """
    trees: dict[str, list[EntityRecords]] = {}
    for name, entity in configuration.entities.items():
        if records[name].holds_records:
            trees.setdefault(entity.tree, []).append(records[name])
    for members in trees.values():
        for at, current in enumerate(members):
            for earlier in members[:at]:
                _refuse_common_ids(earlier, current, before)


def _refuse_common_ids(
    earlier: EntityRecords, current: EntityRecords, before: Mapping[str, EntityRecords]
) -> None:
    old_earlier, old_current = before.get(earlier.entity.name), before.get(current.entity.name)
    if old_earlier is earlier and old_current is current:
        return
    if old_earlier is not None and old_current is not None:
        # Only what is new on either side can clash.
        clash = earlier.shares_ids(current.parts_beside(old_current)) or current.shares_ids(
            earlier.parts_beside(old_earlier)
        )
    else:
        clash = earlier.shares_ids(current.parts)
    if not clash:
        return
    for part in current.parts:
        for position, identifier in enumerate(part.ids):
            if identifier in earlier.id_set:
                raise RepositoryError(
                    "the identifier is taken by a record of an entity in the same inheritance tree "
                    f"({earlier.entity.name})",
                    file=part.path or current.entity.file,
                    entity=current.entity.name,
                    others=(earlier.entity.name,),
                    item=position + 1 if part.multiple else None,
                )
