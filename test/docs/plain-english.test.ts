/** Pages, promises, test titles, help and texts of metrics and settings are plain English in short sentences. */

import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { ASK_USAGE } from '../../src/program/cli/ask';
import { CHECK_USAGE } from '../../src/program/cli/check';
import { EXPLAIN_USAGE } from '../../src/program/cli/explain/explain';
import { RESERVE_USAGE } from '../../src/program/cli/reserve';
import { SERVE_USAGE } from '../../src/program/cli/serve';
import { SCHEMA_USAGE } from '../../src/program/cli/show-schema';
import { SETTINGS_USAGE } from '../../src/program/cli/show-settings';
import { SETTINGS_TABLE } from '../../src/configuration/settings/table/settings-table';
import {
  CONFIG_METRICS,
  METRICS,
  REPORT_METRICS,
  DECISION_LOG_METRICS,
  EVENT_METRICS,
  TRACE_METRICS,
  WORKER_METRICS,
  XDS_METRICS,
  type MetricRow,
} from '../../src/server/observability/metrics/metrics';
import { CERTIFICATE_METRIC } from '../../src/server/observability/metrics/certificate-expiry';
import { LIMIT_METRICS } from '../../src/server/observability/metrics/rule-limit-metric';
import { DOMAIN_METRICS, RULE_METRICS } from '../../src/server/observability/metrics/rule-metrics';
import { makeAlerts } from '../../scripts/generate/monitoring/alerts';
import { makeDashboards } from '../../scripts/generate/monitoring/dashboards';
import { passagesOf, sentencesOf, stringPassages, type Passage, type Sentence } from '../support/docs/prose';
import { testHeads } from '../support/docs/test-heads';
import { testTitles } from '../support/docs/test-titles';

/**
 * What is read: files, and folders with all of their files of these kinds. Of code the comments are read.
 */
const READ: readonly { readonly path: string; readonly kinds: readonly string[] }[] = [
  ...readdirSync('.').flatMap((file) => (file.endsWith('.md') ? [{ path: file, kinds: ['.md'] }] : [])),
  { path: '.github', kinds: ['.md'] },
  { path: 'docs', kinds: ['.md'] },
  { path: 'deploy', kinds: ['.md'] },
  { path: 'lua', kinds: ['.md', '.lua'] },
  { path: 'src', kinds: ['.ts', '.tsx'] },
  { path: 'scripts', kinds: ['.mjs', '.cjs'] },
];

/** The code whose strings are read too. */
const STRINGS_READ = ['scripts', 'src'];

const WORDS_MAX = 40;

interface Pattern {
  readonly pattern: RegExp;
  readonly why: string;
  /** Found. */
  readonly example: string;
  /** Not found. */
  readonly better: string;
}

const PATTERNS: readonly Pattern[] = [
  {
    pattern: /\btold\b/i,
    why: 'say who reports what to whom',
    example: 'What is told of a Redis.',
    better: 'The log names the Redis server.',
  },
  { pattern: /\bwhoever\b/i, why: 'name the reader or the program', example: 'Whoever asks waits.', better: 'A caller waits.' },
  {
    pattern: /\bso (?:many|much|long|often|few)\b/i,
    why: 'write the number, or "while", "as long as"',
    example: 'It waits so long.',
    better: 'It waits for 5 s.',
  },
  {
    pattern: /(?<!\bthere )\b(?:is|are|was|were) no\b(?! (?:longer|more than)\b)/i,
    why: 'write "is not a", "there is none" or "has no"',
    example: 'It is no unit.',
    better: 'It is not a unit.',
  },
  {
    pattern: /(?<!\beach )\bof (?:which|whom)\b/i,
    why: 'split the sentence',
    example: 'Lists, of which it reads one.',
    better: 'It reads one of the lists.',
  },
  { pattern: /^Of [a-z]/, why: 'begin with the subject', example: 'Of those the last wins.', better: 'The last of those wins.' },
  { pattern: /\bbut for\b/i, why: 'write "except"', example: 'All but for one.', better: 'All except one.' },
  { pattern: /\banew\b/i, why: 'write "again"', example: 'It is read anew.', better: 'It is read again.' },
  { pattern: /\bsome \d/i, why: 'write "about"', example: 'Some 20 MB.', better: 'About 20 MB.' },
  { pattern: /\bmend(?:s|ed|ing)?\b/i, why: 'write "fix"', example: 'Mend the override.', better: 'Fix the override.' },
  {
    pattern: /\bmakes? no sense\b/i,
    why: 'write "invalid", and what is valid',
    example: 'A setting that makes no sense.',
    better: 'An invalid setting.',
  },
  { pattern: /\bgo(?:es)? by\b/i, why: 'write "uses"', example: 'A command that goes by it.', better: 'A command that uses it.' },
  {
    pattern: /\bin the place of\b/i,
    why: 'write "instead of" or "replaces"',
    example: 'In the place of a port.',
    better: 'Instead of a port.',
  },
  {
    pattern: /\b(?:come|came|comes) about\b/i,
    why: 'write what failed or happened',
    example: 'A connection that did not come about.',
    better: 'A failed connection.',
  },
  { pattern: /\bhardly\b/i, why: 'write "rarely" or the number', example: 'It is hardly meant.', better: 'It is probably a mistake.' },
  { pattern: /\bnow and then\b|\bever so\b/i, why: 'write how often', example: 'Said now and then.', better: 'Logged once a minute.' },
  {
    pattern: /\bas of weir\b/i,
    why: 'reads like a date: write "same as for"',
    example: 'As of weir serve.',
    better: 'Same as for weir serve.',
  },
  {
    pattern: /\b(?:can't|cannot) be had\b/i,
    why: 'write "unavailable"',
    example: 'Tools that cannot be had.',
    better: 'Unavailable tools.',
  },
  {
    pattern: /\b(?:is|are|was) found out\b/i,
    why: 'write who computes or finds it',
    example: 'It is found out once.',
    better: 'Weir computes it once.',
  },
  {
    pattern: /\bsuch a one\b|\bthe like of\b/i,
    why: 'name it',
    example: 'While such a one is in force.',
    better: 'While the configuration is empty.',
  },
  {
    pattern: /\bthan (?:it|they) (?:was|were) to\b|\bwas to be\b/i,
    why: 'write "should" or "scheduled"',
    example: 'From when it was to be sent.',
    better: 'From its scheduled time.',
  },
];

/** A comment that begins so has no subject. Titles and cells of pages may. */
const CODE_PATTERNS: readonly Pattern[] = [
  { pattern: /^What [a-z]/, why: 'begin with the noun', example: 'What the client sends.', better: 'The message of the client.' },
  { pattern: /^(?:Those|That of|As mostly)\b/, why: 'name the noun', example: 'Those of one tenant.', better: 'Probes of one tenant.' },
];

function filesToRead(): string[] {
  return READ.flatMap(({ path: root, kinds }) => {
    const all = statSync(root).isDirectory()
      ? readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => path.join(root, name))
      : [root];
    return all.filter((name) => kinds.includes(path.extname(name)));
  });
}

/** Texts of tables of the code, as passages that name their row. */
function textsToRead(): Passage[] {
  const metrics: readonly MetricRow[] = [
    METRICS,
    CONFIG_METRICS,
    XDS_METRICS,
    WORKER_METRICS,
    REPORT_METRICS,
    LIMIT_METRICS,
    { CERTIFICATE_METRIC },
    TRACE_METRICS,
    DECISION_LOG_METRICS,
    EVENT_METRICS,
    RULE_METRICS,
    DOMAIN_METRICS,
  ].flatMap((table) => Object.values<MetricRow>(table));
  return [
    ...Object.values(SETTINGS_TABLE).map(({ name, meaning }) => ({ file: `setting ${name}`, line: 1, lines: [meaning] })),
    ...metrics.map(({ name, help }) => ({ file: `metric ${name}`, line: 1, lines: [help] })),
    ...makeAlerts().map(({ name, summary }) => ({ file: `alert ${name}`, line: 1, lines: [summary] })),
    ...Object.values(makeDashboards()).flatMap(({ panels }) =>
      panels.flatMap((panel) =>
        'description' in panel ? [{ file: `panel ${panel.title}`, line: 1, lines: [panel.description ?? ''] }] : [],
      ),
    ),
    ...Object.entries({ ASK_USAGE, CHECK_USAGE, EXPLAIN_USAGE, RESERVE_USAGE, SCHEMA_USAGE, SERVE_USAGE, SETTINGS_USAGE }).flatMap(
      ([name, usage]) => usage.split('\n').map((text, index) => ({ file: `help ${name}`, line: index + 1, lines: [text] })),
    ),
  ];
}

function sentencesToRead(): Sentence[] {
  const files = filesToRead();
  const strings = files
    .filter((file) => STRINGS_READ.includes(file.split('/')[0] ?? ''))
    .flatMap(stringPassages)
    .filter(({ lines }) => lines.length === 1);
  return [...files.flatMap(passagesOf), ...strings, ...textsToRead(), ...testTitles(), ...testHeads()].flatMap(sentencesOf);
}

function wordsOf(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** `docs/cli.md:12: "is no": write "is not a": the sentence` for each pattern that a sentence has. */
function faultsOf({ file, line, text }: Sentence): string[] {
  const isCode = /^(?:src|lua)\//.test(file);
  const found = [...PATTERNS, ...(isCode ? CODE_PATTERNS : [])].flatMap(({ pattern, why }) => {
    const [words] = pattern.exec(text) ?? [];
    return words === undefined ? [] : [`"${words}": ${why}`];
  });
  const words = wordsOf(text);
  const long = words > WORDS_MAX ? [`${words} words: split it, ${WORDS_MAX} is the most`] : [];
  return [...found, ...long].map((fault) => `${file}:${line}: ${fault}: ${text}`);
}

test('no page, test title, setting, metric or help has a pattern of the list, or a sentence that is too long', () => {
  const sentences = sentencesToRead();
  expect(sentences.length).toBeGreaterThan(2_000);
  const faults = sentences.flatMap(faultsOf);
  if (faults.length > 0) throw new Error(`${faults.length} to rewrite:\n${faults.join('\n')}`);
});

test.each([...PATTERNS, ...CODE_PATTERNS])('the pattern $pattern finds "$example", not "$better"', ({ pattern, example, better }) => {
  expect(example).toMatch(pattern);
  expect(better).not.toMatch(pattern);
});

test('a sentence begins at its first word, without code and targets of links', () => {
  const lines = ['One `is no` word. Two', 'are [told](is-no.md). Three'];
  expect(sentencesOf({ file: 'page.md', line: 7, lines })).toEqual([
    { file: 'page.md', line: 7, text: 'One CODE word.' },
    { file: 'page.md', line: 7, text: 'Two are told.' },
    { file: 'page.md', line: 8, text: 'Three' },
  ]);
});

test('tags and types of JSDoc are not read, strings are', () => {
  const sentences = filesToRead()
    .filter((file) => file === 'scripts/install/npm-packages.mjs')
    .flatMap((file) => [...passagesOf(file), ...stringPassages(file)])
    .flatMap(sentencesOf)
    .map(({ text }) => text);
  expect(sentences).toContain('By their folder.');
  expect(sentences).toContain('Check that npm can reach its registry, then run the command again.');
  expect(sentences.filter((text) => /@|LockEntry/.test(text))).toEqual([]);
});
