/** A stage of `npm test` whose tests are written by a test: it runs with jest, as a stage does, and has its second chance. */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../processes/command';

const ROOT = path.resolve(__dirname, '..', '..', '..');

/** So that nothing but a hang ends a run. */
const LIMIT_S = 600;

interface Result {
  readonly passed: number;
  readonly failed: number;
  readonly flaky?: number;
  readonly flakyTests?: readonly string[];
  readonly note?: string;
}

export interface StageEnd {
  readonly result: Result;
  /** The output of the first run. */
  readonly output: string;
  /** What the second chance printed. */
  readonly printed: readonly string[];
}

interface RunOptions {
  readonly limitS?: number;
  readonly totalS?: number;
  readonly onlyLong?: readonly string[];
  readonly titles?: readonly string[];
}

export class ExampleStage {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'weir-stage-'));
  readonly failuresFile = path.join(this.folder, 'failures.txt');

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  write(name: string, source: string): void {
    writeFileSync(path.join(this.folder, `${name}.test.ts`), source);
  }

  failures(): string {
    return existsSync(this.failuresFile) ? readFileSync(this.failuresFile, 'utf8') : '';
  }

  /** `limitS` is that of the first run, `totalS` of all repetitions; the stage leaves out the files `onlyLong`, and runs only tests with these titles. */
  async run({ limitS = LIMIT_S, totalS = LIMIT_S, onlyLong = [], titles = [] }: RunOptions = {}): Promise<StageEnd> {
    const results = path.join(this.folder, 'results');
    mkdirSync(results);
    const folder = path.relative(ROOT, this.folder);
    const script = `
      import { runJest, withAllTitles } from './scripts/test/run-jest.mjs';
      import { giveSecondChance } from './scripts/test/second-chance.mjs';
      const stage = ${JSON.stringify({ name: 'example', folders: [folder], onlyLong: onlyLong.map((name) => `${folder}/${name}.test.ts`), titles, quietS: 1 })};
      const places = ${JSON.stringify({ resultsFolder: results, failuresFile: this.failuresFile })};
      const how = { node: process.execPath, env: {}, show: 'pipe', ...places };
      const printed = [];
      const outcome = withAllTitles(stage, await runJest(stage, { ...how, limitS: ${limitS} }));
      const first = { name: 'example', stage, seconds: 1, ...outcome };
      const [{ output, ...result }] = await giveSecondChance([first], {
        repeat: ({ file, limitS }) => runJest(file === undefined ? stage : { ...stage, folders: [], files: [file] }, { ...how, limitS }),
        print: (line) => printed.push(line),
        totalS: ${totalS},
      });
      console.log(JSON.stringify({ result, output: first.output, printed }));`;
    const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', script], {
      env: { WEIR_RUN_SEED: '7' },
      timeoutMs: 2 * LIMIT_S * 1_000,
    });
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as StageEnd;
  }
}
