/** Writes the figures of docs/generated/benchmarks.md, docs/comparison.md and the front page docs/index.md from bench/results.md: `node scripts/generate/benchmarks.mjs`, after a benchmark. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, isMain } from '../process/repository.mjs';
import { rowOf, tableBelow, withSection } from './results-tables.mjs';

/** @typedef {import('./results-tables.mjs').Table} Table */

const FILE = 'docs/generated/benchmarks.md';
const FRONT = 'docs/index.md';
const COMPARISON = 'docs/comparison.md';
const COST = '### The cost of a decision';

/** The rows of the cost beside other servers. */
const PEERS = [
  ['grpc-js, constant answer', '100,000 keys', '4 x 64'],
  ['lean transport, constant answer', '100,000 keys', '4 x 64'],
  ['Weir, embedded, lean', '100,000 keys', '4 x 64'],
  ['Weir, Redis, lean', '100,000 keys', '4 x 64'],
  ['target', '100,000 keys', '4 x 64'],
  ['Weir, Redis, lean', 'one hot key', '4 x 64'],
  ['target', 'one hot key', '4 x 64'],
  ['Weir, Redis, lean', 'one exhausted key: all over limit', '4 x 64'],
  ['target', 'one exhausted key: all over limit', '4 x 64'],
  ['Weir, Redis, `WORKERS=2` on both cores', '100,000 keys', '4 x 64'],
  ['bare Node, which asks Redis and says yes', '100,000 keys', '4 x 1'],
  ['Weir, Redis, lean', '100,000 keys', '4 x 1'],
];
const PEER_COLUMNS = ['server', 'request', 'streams', 'CPU µs', 'to grpc-js', 'per second', 'p99 ms', 'Redis CPU µs', 'RSS MiB'];

/** The rows that show how the cost grows. */
const GROWTH = [
  ['100,000 keys', '4 x 64'],
  ...[2, 3, 5, 10, 20].map((descriptors) => [`100,000 keys, ${descriptors} descriptors`, '4 x 64']),
  ...['1 x 1', '4 x 1', '200 x 1', '1000 x 1'].map((streams) => ['100,000 keys', streams]),
];

/**
 * The section with the figures.
 *
 * @param {string} results
 */
function renderFigures(results) {
  const decisions = environmentOf(results, 'npm run bench');
  return [
    '## The bar',
    `${decisions} The median ratio of a round, and the most that it may be. **Bold**: the bar does not hold.`,
    ...barTables(tableBelow(results, '### The bar')),
    '## The cost of a decision',
    'User and system time of the server for each decision, from the wire to the wire, and what it costs Redis. 4 x 64: connections x calls under way on each.',
    targetOf(results),
    render(costTable(results)),
    'At a fixed rate:',
    render(rateTable(results)),
    '## Memory',
    render(select(tableBelow(results, '### The memory of a bucket'), ['store', 'buckets', 'bytes each', 'measured by'])),
    '## Control data',
    `${environmentOf(results, 'npm run bench -- control')} 1,000,000 tenants with a plan and 100,000 overrides, one domain:`,
    render(controlTable(results)),
    '## Atomicity',
    `${environmentOf(results, 'npm run bench -- atomicity')} 64 callers take from one key.`,
    render(atomicityTable(results)),
    '## A start',
    startOf(results),
  ].join('\n\n');
}

/**
 * The figures beside other services.
 *
 * @param {string} results
 */
function renderComparison(results) {
  return [
    `${environmentOf(results, 'npm run bench')} Weir on Redis, then envoyproxy/ratelimit; 4 x 64: connections x calls under way on each.`,
    render(growthTable(results)),
    'Beside limitador, as ratios of Weir to it, from [one run by hand](../bench/results.md#beside-limitador):',
    render(tableBelow(results, '## Beside limitador')),
  ].join('\n\n');
}

/**
 * Without what the start is made of.
 *
 * @param {string} results
 */
function controlTable(results) {
  const { header, rows } = select(tableBelow(results, '## Control data'), ['figure', 'measured', 'bar']);
  return { header, rows: rows.filter(([figure = '']) => !figure.startsWith('- ')) };
}

/**
 * The command, its date and its machine.
 *
 * @param {string} results
 * @param {string} command
 */
function environmentOf(results, command) {
  const [, environment] = new RegExp(`\`${command}\`, ([^()\\n]*\\([^)]*\\))`).exec(results) ?? [];
  if (environment === undefined) throw new Error(`bench/results.md does not say when ${command} ran`);
  return `\`${command}\`, ${environment}.`;
}

/**
 * What the target was, if the run had one.
 *
 * @param {string} results
 */
function targetOf(results) {
  return /^The target is .*$/m.exec(results)?.[0] ?? 'The run had no target.';
}

/**
 * The rows of Weir alone, and those beside a reference: a line for each load, a column for each figure.
 *
 * @param {Table} bar
 */
function barTables({ rows }) {
  const beside = / Weir \/ reference: `([^`]+)`$/;
  const own = rows.filter(([title = '']) => !beside.test(title));
  /** @type {Map<string, Map<string, string>>} */
  const loads = new Map();
  for (const [title = '', measured = '', atMost = '', verdict = ''] of rows) {
    const [ending, load] = beside.exec(title) ?? [];
    if (ending === undefined || load === undefined) continue;
    const cells = loads.get(load) ?? /** @type {Map<string, string>} */ (new Map());
    loads.set(load, cells.set(title.slice(0, -ending.length - 1), boundedOf({ measured, atMost, verdict })));
  }
  const figures = [...new Set([...loads.values()].flatMap((cells) => [...cells.keys()]))];
  return [
    render({
      header: ['ratio', 'measured', 'at most'],
      rows: own.map(([title = '', measured = '', atMost = '', verdict = '']) => [
        title,
        marked({ text: withoutSpread(measured), verdict }),
        atMost,
      ]),
    }),
    ...(loads.size === 0
      ? []
      : [
          'Weir to envoyproxy/ratelimit, with the bound in brackets:',
          render({
            header: ['load', ...figures],
            rows: [...loads].map(([load, cells]) => [`\`${load}\``, ...figures.map((figure) => cells.get(figure) ?? '')]),
          }),
        ]),
  ];
}

/** @param {{ measured: string, atMost: string, verdict: string }} cells */
function boundedOf({ measured, atMost, verdict }) {
  return `${marked({ text: withoutSpread(measured), verdict })} (${atMost})`;
}

/** @param {{ text: string, verdict: string }} cell */
function marked({ text, verdict }) {
  return verdict === '**no**' ? `**${text}**` : text;
}

/** @param {string} results */
function costTable(results) {
  const cost = tableBelow(results, COST);
  const rows = PEERS.flatMap((first) => cost.rows.filter((cells) => first.every((cell, index) => cells[index] === cell)));
  return select({ header: cost.header, rows: rows.map((cells) => cells.map(withoutSpread)) }, PEER_COLUMNS);
}

/** @param {string} results */
function growthTable(results) {
  const cost = tableBelow(results, COST);
  const columns = ['CPU µs', 'Redis CPU µs', 'per second', 'p99 ms'];
  const rows = GROWTH.map(([request = '', streams = '']) => {
    const of = (/** @type {string} */ server) =>
      cost.rows.find((cells) => cells[0] === server && cells[1] === request && cells[2] === streams);
    const [weir, target] = [rowOf(cost, ['Weir, Redis, lean', request, streams]), of('target')];
    const pair = (/** @type {string} */ column) => {
      const index = cost.header.indexOf(column);
      return [weir, target].map((cells) => withoutSpread(cells?.[index] ?? '-')).join(', ');
    };
    return [`${request}, ${streams}`, ...columns.map(pair)];
  });
  return { header: ['load', ...columns], rows };
}

/** @param {string} results */
function rateTable(results) {
  const { header, rows } = tableBelow(results, '### Latency at a fixed rate');
  const fixed = rows.filter(([, rate = '']) => !rate.includes('half'));
  return select({ header, rows: fixed.map((cells) => cells.map(withoutSpread)) }, [
    'server',
    'calls a second',
    'p50 ms',
    'p99 ms',
    'p99.9 ms',
    'CPU µs',
    'Redis CPU µs',
  ]);
}

/** @param {string} results */
function startOf(results) {
  const table = tableBelow(results, '## A start');
  const least = (/** @type {string} */ process) => rowOf(table, [process])[1] ?? '';
  return `${environmentOf(results, 'npm run bench -- start')} Processor time until the first answer: ${least('Weir, embedded')} ms on the embedded store, ${least('Weir, Redis')} ms on Redis; ${least('Node alone')} ms is Node alone.`;
}

/** @param {string} results */
function atomicityTable(results) {
  const costs = tableBelow(results, '### What a decision costs');
  const granted = tableBelow(results, '### Over-grant');
  return {
    header: ['way', 'ns per decision', 'ratio', 'Redis calls', 'over-grant'],
    rows: granted.rows.map(([way = '', , overGrant = '']) => {
      const [, , , ns = '', ratio = '', calls = ''] = rowOf(costs, ['`hot_key`', '64', way]);
      return [way, withoutSpread(ns), ratio, calls, withoutSpread(overGrant)];
    }),
  };
}

/**
 * These columns of the table.
 *
 * @param {Table} table
 * @param {readonly string[]} columns
 */
function select({ header, rows }, columns) {
  const indexes = columns.map((column) => header.indexOf(column));
  return { header: columns, rows: rows.map((cells) => indexes.map((index) => cells[index] ?? '')) };
}

/**
 * The median alone: `2.84` of `2.84 (2.60 to 3.32)`.
 *
 * @param {string} cell
 */
function withoutSpread(cell) {
  return cell.replace(/ \([^)]* to [^)]*\)$/, '');
}

/** @param {Table} table */
function render({ header, rows }) {
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}

/**
 * One decision of Weir and of envoyproxy/ratelimit, in one run.
 *
 * @param {string} results
 */
function renderFront(results) {
  const cost = tableBelow(results, COST);
  const [weir, reference] = ['Weir, Redis, lean', 'target'].map((server) => rowOf(cost, [server, '100,000 keys', '4 x 64']));
  const row = (/** @type {string} */ title, /** @type {string} */ column) => {
    const index = cost.header.indexOf(column);
    return [title, ...[weir, reference].map((cells) => withoutSpread(cells?.[index] ?? '-'))];
  };
  const rows = [row('µs of CPU', 'CPU µs'), row("µs of Redis's CPU", 'Redis CPU µs'), row('decisions a second', 'per second')];
  return render({ header: ['one of 100,000 keys', 'Weir', 'envoyproxy/ratelimit'], rows });
}

/** What each page has of the results. @type {Readonly<Record<string, (results: string) => string>>} */
const PAGES = { [FILE]: renderFigures, [COMPARISON]: renderComparison, [FRONT]: renderFront };

/**
 * A page with its figures.
 *
 * @param {string} file
 * @param {{ page: string, results: string }} texts
 */
export function withFigures(file, { page, results }) {
  const text = PAGES[file]?.(results) ?? '';
  return withSection({ page, file, command: 'node scripts/generate/benchmarks.mjs', text });
}

if (isMain(import.meta.url)) {
  const results = readFileSync(join(ROOT, 'bench', 'results.md'), 'utf8');
  for (const file of Object.keys(PAGES)) {
    const path = join(ROOT, file);
    writeFileSync(path, withFigures(file, { page: readFileSync(path, 'utf8'), results }));
  }
}
