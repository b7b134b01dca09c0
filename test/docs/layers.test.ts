/** The arrows between the folders of `src/` point inward, as docs/architecture.md says. */

import path from 'node:path';
import { sourceFiles } from '../support/source-files';

/** What a folder may import beside itself; files directly in `src/` are listed by name. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  descriptor: ['rule'],
  rule: ['descriptor', 'bucket', 'errors'],
  bucket: ['descriptor', 'rule'],
  engine: ['bucket', 'rule'],
  store: ['bucket', 'engine', 'rule', 'errors', 'backoff'],
  resilience: ['bucket', 'rule', 'store', 'errors'],
  reservation: ['descriptor', 'rule', 'bucket', 'engine', 'store', 'errors'],
  respond: ['descriptor', 'rule', 'bucket', 'engine'],
  transport: ['clock', 'reservation', 'descriptor', 'engine', 'respond', 'rule', 'errors', 'store', 'should-rate-limit', 'observability'],
  config: ['descriptor', 'rule', 'bucket'],
  observability: ['descriptor', 'rule', 'engine', 'errors', 'store', 'should-rate-limit'],
  workers: ['config', 'errors', 'observability', 'backoff'],
  xds: ['config', 'backoff'],
  'should-rate-limit': ['descriptor', 'rule', 'bucket', 'engine', 'store', 'respond', 'errors'],
  backoff: [],
  clock: [],
  errors: [],
  version: [],
};

/** They know every part. */
const ROOTS = ['app', 'cli', 'main', 'open-grpc', 'open-redis', 'open-reservations', 'open-statsd', 'open-store', 'open-xds', 'publish-metrics', 'start-workers', 'warm-up', 'wrap-redis'];

const PURE = ['descriptor', 'rule', 'bucket', 'engine'];

/** Libraries that a pure folder may use: pure ones, for hashing long keys and for time zones. */
const PURE_LIBRARIES = ['node:crypto', 'luxon'];

interface Import {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

function importsOf(): Import[] {
  return sourceFiles().flatMap(({ name, text }) =>
    Array.from(text.matchAll(/^(?:import|export) [^;]*?from '([^']+)'/gm), ([, specifier]) => {
      const isOwn = specifier!.startsWith('.');
      const to = isOwn ? folderOf(path.posix.join(path.posix.dirname(name), specifier!)) : specifier!;
      return { file: name, from: folderOf(name), to };
    }),
  );
}

function folderOf(name: string): string {
  const [first = ''] = name.replace(/\.ts$/, '').split('/');
  return first;
}

test('a folder imports only what lies further in', () => {
  const wrong = importsOf().filter(({ from, to }) => {
    const isOwn = to in MAY_IMPORT || ROOTS.includes(to);
    const isRoot = ROOTS.includes(from);
    return isOwn && !isRoot && from !== to && MAY_IMPORT[from]?.includes(to) !== true;
  });
  expect(wrong).toEqual([]);
});

test('the domain uses no library and no edge', () => {
  const edges = [...Object.keys(MAY_IMPORT), ...ROOTS].filter((folder) => !PURE.includes(folder));
  const wrong = importsOf().filter(
    ({ from, to }) => PURE.includes(from) && !PURE.includes(to) && to !== 'errors' && (edges.includes(to) || !PURE_LIBRARIES.includes(to)),
  );
  expect(wrong).toEqual([]);
});

/** Where each store that may lie around Redis is made. */
function layersMade(): string[] {
  const files = sourceFiles();
  const classes = files.filter(({ name }) => name.startsWith('resilience/')).flatMap(({ text }) => Array.from(text.matchAll(/^export class (\w+) implements Store/gm), ([, name]) => name!));
  const made = new RegExp(`\\bnew (${[...classes, 'BatchingStore'].join('|')})\\(`, 'g');
  return files.flatMap(({ name, text }) => Array.from(text.matchAll(made), ([, layer]) => `${name}: ${layer}`));
}

test('each layer around Redis is put in once, for calls and for the warm-up', () => {
  expect(layersMade().sort()).toEqual(['BatchingStore', 'BreakerStore', 'DeadlineStore', 'DenyCacheStore', 'FallbackStore'].map((layer) => `wrap-redis.ts: ${layer}`));
});

test('every folder is in the picture', () => {
  const folders = new Set(sourceFiles().map(({ name }) => folderOf(name)));
  expect([...folders].filter((folder) => !(folder in MAY_IMPORT)).sort()).toEqual(ROOTS);
});

test('every file opens with a sentence on what it owns', () => {
  const wrong = sourceFiles().filter(({ text }) => !/^(?:#!.*\n)?\/\*\*/.test(text));
  expect(wrong.map(({ name }) => name)).toEqual([]);
});
