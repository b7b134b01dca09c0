/** Writes the results of tests as text, TAP, JUnit XML or JSON. */

import { printable } from './file/printable';
import type { FileResult, TestFailure, TestResult } from './run-test-file';

export interface Report {
  readonly tests: readonly TestResult[];
  readonly coverage: readonly Pick<FileResult, 'untested' | 'rules'>[];
}

export type ReportFormat = 'text' | 'tap' | 'junit' | 'json';

export const REPORT_FORMATS: Readonly<Record<ReportFormat, (report: Report) => string>> = { text, tap, junit, json };

function text({ tests, coverage }: Report): string {
  const lines = tests.flatMap((test) => {
    const { failure, name, file, line } = test;
    return failure === undefined
      ? [`ok    ${name}`]
      : [`FAIL  ${name} (${file}:${line})`, ...failureLines(test.file, failure).map((each) => `      ${each}`)];
  });
  const failed = failedOf(tests).length;
  lines.push(`${tests.length - failed} passed, ${failed} failed`);
  const untested = [...new Set(coverage.flatMap((each) => each.untested))];
  if (untested.length > 0) lines.push('Rules that no test reached:', ...untested.map((rule) => `  ${rule}`));
  return `${lines.map(printable).join('\n')}\n`;
}

function tap({ tests }: Report): string {
  const lines = tests.flatMap(({ file, name, failure }, index) => {
    const title = printable(name).replace(/[\\#]/g, '\\$&');
    if (failure === undefined) return [`ok ${index + 1} - ${title}`];
    const detail = failureLines(file, failure).map((each) => `    ${printable(each)}`);
    return [`not ok ${index + 1} - ${title}`, '  ---', '  message: |2', ...detail, '  ...'];
  });
  return `${['TAP version 14', `1..${tests.length}`, ...lines].join('\n')}\n`;
}

function junit({ tests }: Report): string {
  const byFile = new Map<string, TestResult[]>();
  for (const test of tests) byFile.set(test.file, [...(byFile.get(test.file) ?? []), test]);
  const suites = [...byFile].map(([file, of]) => {
    const cases = of.map(({ name, line, failure }) => {
      const head = `    <testcase name="${xml(name)}" classname="${xml(file)}" file="${xml(file)}" line="${line}"`;
      if (failure === undefined) return `${head}/>`;
      const message = failure.differences.map(({ field, expected, actual }) => `${field}: expected ${expected}, got ${actual}`).join('; ');
      return `${head}>\n      <failure message="${xml(message)}">${xml(failureLines(file, failure).join('\n'))}</failure>\n    </testcase>`;
    });
    return `  <testsuite name="${xml(file)}" tests="${of.length}" failures="${failedOf(of).length}">\n${cases.join('\n')}\n  </testsuite>`;
  });
  const total = `tests="${tests.length}" failures="${failedOf(tests).length}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites ${total}>\n${suites.join('\n')}\n</testsuites>\n`;
}

function json({ tests, coverage }: Report): string {
  const failed = failedOf(tests).length;
  const rules = coverage.map((each) => ({ untested: each.untested, rules: each.rules }));
  return `${JSON.stringify({ passed: tests.length - failed, failed, tests, coverage: rules }, null, 2)}\n`;
}

function failedOf(tests: readonly TestResult[]): readonly TestResult[] {
  return tests.filter(({ failure }) => failure !== undefined);
}

function failureLines(file: string, { line, at, request, repetition, differences, answer, explanation }: TestFailure): string[] {
  const which = repetition === undefined ? '' : `, repetition ${repetition}`;
  return [
    `${file}:${line}${which}: ${request}, at ${at}`,
    ...differences.map(({ field, expected, actual }) => `  ${field}: expected ${expected}, got ${actual}`),
    ...answer.map((each) => `  ${each}`),
    ...(explanation === undefined
      ? []
      : explanation
          .trimEnd()
          .split('\n')
          .map((each) => `  ${each}`)),
  ];
}

/** Invalid characters are replaced, and those that a reader would change are written by number. */
function xml(value: string): string {
  return value
    .replace(/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '?')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
