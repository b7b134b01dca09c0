/** The reports of `weir test` are valid for strict readers of TAP and XML, whatever names, values and messages they hold. */

import { parse } from 'yaml';
import { Pace } from '../../../src/program/cli/test/pace';
import { readTestFile } from '../../../src/program/cli/test/file/read-test-file';
import type { TestResult } from '../../../src/program/cli/test/run-test-file';
import { REPORT_FORMATS } from '../../../src/program/cli/test/test-report';
import { ProblemList } from '../../../src/configuration/problems/problem-list';

const HOSTILE = [
  'plain',
  '',
  'a # TODO later \\# SKIP',
  ']]> <b>&amp;"\'',
  '\u001b[31mred\u0000\u0007',
  'two\nlines\r\tand a tab',
  'ok 7 - not this one',
  '  --- leading spaces',
  'grüße 日本 🦊 \ud800 \uffff \u2028',
  "it's: a | > map",
];

function resultOf(name: string, isFailed: boolean): TestResult {
  const base = { file: `dir/${name}.test.yaml`, name, line: 3, requests: 1 };
  if (!isFailed) return base;
  const differences = [{ field: 'code', expected: name, actual: name }];
  return {
    ...base,
    failure: { line: 5, at: '2026-01-01T00:00:00Z', request: name, differences, answer: [name], explanation: `${name}\n  ${name}\n` },
  };
}

const RESULTS = HOSTILE.flatMap((name) => [resultOf(name, false), resultOf(name, true)]);
const REPORT = { tests: RESULTS, coverage: [{ untested: HOSTILE, rules: 3 }] };

/** As a terminal or a reader may see it. */
const shown = (text: string) => text.replace(/[\p{Cc}\p{Cs}\uffff\u2028]/gu, '?');

test('TAP: a plan, a line for each test in order with escapes, and a YAML block for each that failed', () => {
  const lines = REPORT_FORMATS.tap(REPORT).split('\n');
  expect(lines.slice(0, 2)).toEqual(['TAP version 14', `1..${RESULTS.length}`]);
  const found: { readonly ok: boolean; readonly name: string; readonly block: string[] }[] = [];
  for (const line of lines.slice(2, -1)) {
    const [, not, number, name] = /^(not )?ok (\d+) - (.*)$/.exec(line) ?? [];
    if (name === undefined) {
      expect(line).toMatch(/^ {2}/);
      found.at(-1)!.block.push(line.slice(2));
      continue;
    }
    expect(Number(number)).toBe(found.length + 1);
    // A number sign without a backslash would begin a directive.
    expect(name.replace(/\\[\\#]/g, '')).not.toMatch(/[\\#]/);
    found.push({ ok: not === undefined, name: name.replace(/\\([\\#])/g, '$1'), block: [] });
  }
  expect(found.map(({ ok, name }) => [ok, name])).toEqual(RESULTS.map(({ name, failure }) => [failure === undefined, shown(name)]));
  for (const [index, { ok, block, name }] of found.entries()) {
    expect([block[0], block.at(-1)]).toEqual(ok ? [undefined, undefined] : ['---', '...']);
    if (ok) continue;
    const { message } = parse(block.slice(1, -1).join('\n')) as { readonly message: string };
    expect(message.split('\n')[0]).toBe(`${shown(RESULTS[index]!.file)}:5: ${name}, at 2026-01-01T00:00:00Z`);
  }
});

/** The characters of XML 1.0. */
const XML_TEXT = /^[\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
  text: string;
}

/** Throws for what is not well-formed XML of elements, attributes and text. */
function parseXml(document: string): Element {
  if (!XML_TEXT.test(document)) throw new Error('a character that XML does not have');
  const prolog = '<?xml version="1.0" encoding="UTF-8"?>\n';
  if (!document.startsWith(prolog)) throw new Error('no XML declaration');
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  for (const [token] of document.slice(prolog.length).matchAll(/<[^>]*>|[^<]+/g)) {
    const [, close, name, rest, empty] = /^<(\/?)([a-z]+)((?: [a-z]+="[^"<]*")*)(\/?)>$/.exec(token) ?? [];
    if (name === undefined) open.at(-1)!.text += unescape(token);
    else if (close === '/') expect(open.pop()!.name).toBe(name);
    else {
      const pairs = Array.from(rest!.matchAll(/ ([a-z]+)="([^"]*)"/g), ([, key, value]) => [key!, unescape(value!)] as const);
      expect(new Set(pairs.map(([key]) => key)).size).toBe(pairs.length);
      const element: Element = { name, attributes: Object.fromEntries(pairs), children: [], text: '' };
      open.at(-1)!.children.push(element);
      if (empty === '') open.push(element);
    }
  }
  expect(open).toHaveLength(1);
  expect(root.children).toHaveLength(1);
  return root.children[0]!;
}

function unescape(text: string): string {
  if (/[<>]|&(?!(?:amp|lt|gt|quot|#\d+);)/.test(text)) throw new Error(`not escaped: ${text}`);
  const names: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' };
  return text.replace(/&(?:(amp|lt|gt|quot)|#(\d+));/g, (_, name?: string, code?: string) =>
    name === undefined ? String.fromCharCode(Number(code)) : names[name]!,
  );
}

test('JUnit: well-formed XML with the counts, the names and the messages', () => {
  const root = parseXml(REPORT_FORMATS.junit(REPORT));
  const inXml = (text: string) => text.replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '?');
  expect([root.name, root.attributes]).toEqual(['testsuites', { tests: String(RESULTS.length), failures: String(HOSTILE.length) }]);
  const cases = root.children.flatMap(({ children }) => children);
  expect(cases.map(({ attributes: { name, file, line } }) => [name, file, line])).toEqual(
    RESULTS.map(({ name, file, line }) => [inXml(name), inXml(file), String(line)]),
  );
  const [failure] = cases[3]!.children;
  expect(failure!.attributes.message).toBe('code: expected , got ');
  expect(cases[7]!.children[0]!.text).toContain(`dir/]]> <b>&amp;"'.test.yaml:5: ]]> <b>&amp;"', at 2026`);
  expect(root.children.map(({ attributes: { tests, failures } }) => [tests, failures])).toEqual(HOSTILE.map(() => ['2', '1']));
});

test('text and JSON: no control characters for the terminal, and all that is known for programs', () => {
  expect(REPORT_FORMATS.text(REPORT).replace(/\n/g, '')).not.toMatch(/\p{Cc}/u);
  const json = JSON.parse(REPORT_FORMATS.json(REPORT)) as { readonly tests: readonly TestResult[]; readonly coverage: unknown };
  expect(json.tests.map(({ name }) => name)).toEqual(RESULTS.map(({ name }) => name));
  expect(json).toMatchObject({ passed: HOSTILE.length, failed: HOSTILE.length, coverage: [{ untested: HOSTILE, rules: 3 }] });
});

test('a problem of a file shows no control characters of its keys', () => {
  const list = new ProblemList();
  const text = 'configuration: a\n"\\e[2J": 1\ntests: [{name: a, requests: [{domain: d, descriptors: [{"\\a": [x]}]}]}]\n';
  readTestFile({ name: 'a.test.yaml', text }, list);
  expect(list.found().kept.map(({ line, path }) => `${line} ${path}`)).toEqual(['2 ?[2J', '3 tests[0].requests[0].descriptors[0].?']);
});

test('progress shows after half a second on a terminal, ten times a second at most, and is removed', async () => {
  let nowMs = 0;
  const written: string[] = [];
  const pace = new Pace({ tests: 2, terminal: { write: (text) => written.push(text) }, nowMs: () => nowMs });
  for (; nowMs < 1_000; nowMs += 20) {
    for (let request = 0; request < 1_000; request += 1) if (pace.isTurnOver()) await pace.endTurn();
  }
  pace.endTest({ failed: true });
  pace.end();
  expect(written).toHaveLength(5 + 1 + 1);
  expect(written[0]).toBe('\r\u001b[K0 of 2 tests, 0 failed, 26000 requests');
  expect(written.slice(-2)).toEqual(['\r\u001b[K1 of 2 tests, 1 failed, 50000 requests', '\r\u001b[K']);
});
