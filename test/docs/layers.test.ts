/** Imports between folders of `src/` point inward and make no circle, and the domain imports neither libraries nor edges. */

import path from 'node:path';
import { ALGORITHMS } from '../../src/domain/algorithm/algorithms';
import { sourceFiles } from '../support/docs/source-files';

/** The houses of `src/` from the innermost; a house imports only those before it, and `state` and `configuration` do not know each other. */
const HOUSES = ['lib', 'domain', 'state', 'configuration', 'should-rate-limit', 'server', 'administration', 'program', 'main'];

/** The houses, and the rooms of them, that a room may import beside itself and `lib`; the rooms of `program` know every part. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  'domain/algorithm': [],
  'domain/descriptor': [],
  'domain/rule': ['domain/algorithm', 'domain/descriptor'],
  'domain/bucket': ['domain/algorithm', 'domain/descriptor', 'domain/rule'],
  'domain/decide': ['domain/algorithm', 'domain/bucket', 'domain/rule'],
  'domain/respond': ['domain/bucket', 'domain/decide', 'domain/descriptor', 'domain/rule'],
  'state/store': ['domain'],
  'state/request': ['domain', 'state/store'],
  'state/resilience': ['domain', 'state/store'],
  'state/instances': ['state/store'],
  'state/reservation': ['domain', 'state/store'],
  'state/control': ['domain', 'state/store'],
  'state/penalty': ['domain', 'state/control', 'state/store'],
  'state/rollout': ['domain', 'state/control', 'state/store'],
  'state/fair': ['domain', 'state/store'],
  'state/events': ['domain', 'state/control', 'state/rollout', 'state/store'],
  'state/top': ['domain', 'state/instances', 'state/store'],
  'configuration/problems': [],
  'configuration/yaml': ['configuration/problems'],
  'configuration/settings': ['domain'],
  'configuration/compile': ['configuration/problems', 'configuration/yaml', 'domain'],
  'configuration/source': ['configuration/compile', 'configuration/problems', 'configuration/settings', 'configuration/yaml', 'domain'],
  'configuration/diff': ['domain'],
  'configuration/explain': ['configuration/compile', 'domain'],
  'should-rate-limit': ['domain', 'state/request', 'state/store'],
  'server/observability': ['domain', 'should-rate-limit', 'state/request', 'state/resilience', 'state/store', 'state/top'],
  'server/transport': ['domain', 'server/observability', 'should-rate-limit', 'state/request', 'state/reservation', 'state/store'],
  'server/workers': ['configuration', 'domain', 'server/observability'],
  'server/warm-up': ['configuration', 'domain', 'server', 'should-rate-limit', 'state'],
  'administration/admin': ['configuration', 'domain', 'server/observability', 'should-rate-limit', 'state'],
  'administration/admin-client': [],
  // It runs in browsers, and knows the admin API alone.
  'administration/console': ['administration/admin-client'],
};

/** Pure libraries, for hashing long keys, for time zones, and for the syntax of headers. */
const PURE_LIBRARIES = ['node:crypto', 'luxon', 'structured-headers'];

/** TypeScript, and JavaScript with types in JSDoc. */
const KINDS = ['.ts', '.tsx', '.mjs', '.cjs'];

/** Those of `src/`. */
const SOURCES = { kinds: ['.ts', '.tsx'] };

/** Siblings that a reader takes in at a glance. */
const SIBLINGS_MAX = 17;

interface Import {
  /** Files, seen from `src/`, without extension; `to` may be a library. */
  readonly from: string;
  readonly to: string;
}

function importsOf(): Import[] {
  return sourceFiles(SOURCES).flatMap(({ name, text }) =>
    Array.from(text.matchAll(/^(?:import|export) [^;]*?from '([^']+)'/gm), ([, specifier]) => {
      const isOwn = specifier!.startsWith('.');
      return { from: fileOf(name), to: isOwn ? path.posix.join(path.posix.dirname(name), specifier!) : specifier! };
    }),
  );
}

function fileOf(name: string): string {
  return name.replace(/\.tsx?$/, '');
}

function houseOf(file: string): string {
  return file.split('/')[0] ?? file;
}

/** The room of a house; `lib` and the files directly in `src/` are rooms of their own. */
function roomOf(file: string): string {
  const [house = file, room] = file.split('/');
  return room === undefined || house === 'lib' ? house : `${house}/${room}`;
}

test('a room imports only rooms further in', () => {
  const wrong = importsOf().filter(({ from, to }) => {
    const [room, target] = [roomOf(from), roomOf(to)];
    if (!HOUSES.includes(houseOf(to)) || houseOf(from) === 'program' || room === target || target === 'lib') return false;
    return MAY_IMPORT[room]?.some((allowed) => allowed === target || allowed === houseOf(to)) !== true;
  });
  expect(wrong.filter(({ from }) => from !== 'main')).toEqual([]);
});

test('a house imports only houses further in', () => {
  const wrong = importsOf().filter(({ from, to }) => HOUSES.indexOf(houseOf(to)) > HOUSES.indexOf(houseOf(from)));
  expect(wrong).toEqual([]);
});

test('src has six houses, the library of them, and two files', () => {
  const entries = new Set(sourceFiles(SOURCES).map(({ name }) => houseOf(fileOf(name))));
  expect([...entries].sort()).toEqual([...HOUSES].sort());
});

test('the domain uses neither libraries nor edges', () => {
  const wrong = importsOf().filter(({ from, to }) => {
    const isOwn = ['domain', 'lib'].includes(houseOf(to));
    return houseOf(from) === 'domain' && !isOwn && (HOUSES.includes(houseOf(to)) || !PURE_LIBRARIES.includes(to));
  });
  expect(wrong).toEqual([]);
});

/** What can be reached from each node by the arrows, and leads back to it. */
function circlesOf(arrows: readonly Import[]): string[] {
  const next = new Map<string, Set<string>>();
  for (const { from, to } of arrows) if (from !== to) next.set(from, (next.get(from) ?? new Set<string>()).add(to));
  const leadsTo = (start: string): ReadonlySet<string> => {
    const seen = new Set<string>();
    const waiting = [...(next.get(start) ?? [])];
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      if (seen.has(node)) continue;
      seen.add(node);
      waiting.push(...(next.get(node) ?? []));
    }
    return seen;
  };
  return [...next.keys()].filter((node) => leadsTo(node).has(node));
}

test('no import leads in a circle, between files or between folders', () => {
  const own = importsOf().filter(({ to }) => HOUSES.includes(houseOf(to)));
  const folders = own
    .map(({ from, to }) => ({ from: path.posix.dirname(from), to: path.posix.dirname(to) }))
    .filter(({ from, to }) => from !== '.' && to !== '.');
  expect(circlesOf(own)).toEqual([]);
  expect(circlesOf(folders)).toEqual([]);
  expect(
    circlesOf([
      { from: 'a', to: 'b' },
      { from: 'b', to: 'a' },
    ]),
  ).toEqual(['a', 'b']);
});

test.each(['src', 'scripts', 'test', 'bench'])('a folder of %s has at most 17 files', (folder) => {
  const counts = new Map<string, number>();
  for (const { name } of sourceFiles({ folder, kinds: KINDS }))
    counts.set(path.posix.dirname(name), (counts.get(path.posix.dirname(name)) ?? 0) + 1);
  expect(counts.size).toBeGreaterThan(4);
  expect([...counts].filter(([, count]) => count > SIBLINGS_MAX)).toEqual([]);
});

test('the folders of scripts do not import each other in a circle', () => {
  const folders = sourceFiles({ folder: 'scripts', kinds: KINDS }).flatMap(({ name, text }) =>
    Array.from(text.matchAll(/^import [^;]*? from '(\.[^']+)'/gm), ([, specifier]) => ({
      from: path.posix.dirname(name),
      to: path.posix.dirname(path.posix.join(path.posix.dirname(name), specifier!)),
    })),
  );
  expect(folders.length).toBeGreaterThan(30);
  expect(circlesOf(folders)).toEqual([]);
});

test('scripts that run before the npm packages are installed import none at their top', () => {
  const afterwards = ['generate/'];
  const early = sourceFiles({ folder: 'scripts', kinds: ['.mjs'] }).filter(
    ({ name }) => !afterwards.some((folder) => name.startsWith(folder)),
  );
  expect(early.length).toBeGreaterThan(30);
  const imports = early.flatMap(({ name, text }) =>
    Array.from(text.matchAll(/^import [^;]*?from '([^.'][^']*)'/gm), ([, specifier]) => `${name}: ${specifier!}`),
  );
  expect(imports.filter((each) => !each.includes(': node:'))).toEqual([]);
});

/** Where each store that may lie around Redis is made. */
function layersMade(): string[] {
  const files = sourceFiles();
  const classes = files
    .filter(({ name }) => name.startsWith('state/resilience/'))
    .flatMap(({ text }) => Array.from(text.matchAll(/^export class (\w+) implements Store/gm), ([, name]) => name!));
  const made = new RegExp(`\\bnew (${[...classes, 'BatchingStore'].join('|')})\\(`, 'g');
  return files.flatMap(({ name, text }) => Array.from(text.matchAll(made), ([, layer]) => `${name}: ${layer}`));
}

test('each layer around Redis is made in one place, for calls and for the warm-up', () => {
  expect(layersMade().sort()).toEqual(
    ['BatchingStore', 'BreakerStore', 'DeadlineStore', 'DenyCacheStore', 'FallbackStore', 'LeaseStore'].map(
      (layer) => `state/resilience/wrap-redis.ts: ${layer}`,
    ),
  );
});

test('only src/domain/algorithm names an algorithm', () => {
  // As a text, or as the key of an object.
  const named = new RegExp(`['"](${ALGORITHMS.join('|')})['"]|^\\s*(${ALGORITHMS.join('|')}):`, 'm');
  const wrong = sourceFiles().filter(({ name, text }) => !name.startsWith('domain/algorithm/') && named.test(text));
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

test('only src/state/store/redis/client uses the Redis client', () => {
  const users = importsOf().filter(({ to }) => to === 'redis' || to.startsWith('@redis/'));
  expect([...new Set(users.map(({ from }) => path.posix.dirname(from)))]).toEqual(['state/store/redis/client']);
});

test('every room of src has its row in the layers', () => {
  const rooms = new Set(sourceFiles(SOURCES).map(({ name }) => roomOf(fileOf(name))));
  const known = [...rooms].filter((room) => room !== 'main' && houseOf(room) !== 'program');
  expect(known.sort()).toEqual(Object.keys(MAY_IMPORT).sort());
});

test.each(['src', 'scripts'])('every file of %s opens with a sentence on what it owns', (folder) => {
  const wrong = sourceFiles({ folder, kinds: KINDS }).filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text));
  expect(wrong.map(({ name }) => name)).toEqual([]);
});
