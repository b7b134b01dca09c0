/** Figures that a test measured: printed, and kept with the results of the run for docs/generated/requirements.md. */

import { appendFileSync, writeSync } from 'node:fs';
import path from 'node:path';

const STDERR = 2;
const ROOT = path.resolve(__dirname, '..', '..', '..');

/** `npm test` sets it for each stage (scripts/run-jest.mjs). */
const FILE = process.env.WEIR_FIGURES_FILE;

/** Call it in a test: `figure('39 admitted, bound 39.60')`. The row of its file in docs/generated/requirements.md shows it. */
export function figure(text: string): void {
  writeSync(STDERR, `${expect.getState().currentTestName ?? 'outside of a test'}: ${text}\n`);
  keepFigure(text);
}

/** The same without printing. */
export function keepFigure(text: string): void {
  const { testPath = '', currentTestName } = expect.getState();
  if (FILE === undefined || currentTestName === undefined) return;
  appendFileSync(FILE, `${JSON.stringify({ file: path.relative(ROOT, testPath), name: currentTestName, text })}\n`);
}
