/** `weir test --watch`: runs tests again whenever their files or the configurations that they name change. */

import { stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ProblemList } from '../../../configuration/problems/problem-list';
import { SettingsError } from '../../../configuration/settings/table/settings-error';
import { lookAt } from '../../../configuration/source/files/config-files';
import { asError } from '../../../lib/errors';
import { stopSignals } from '../stop-signals';
import { UsageError } from '../usage-error';
import { readTestFile } from './file/read-test-file';
import { findTestFiles, namesOfTestFiles } from './test-files';

/** Between looks at the files. Not every file system reports changes, so they are looked at. */
const LOOK_MS = 300;

const CLEAR_SCREEN = '\u001b[2J\u001b[3J\u001b[H';

export interface WatchTestsInput {
  readonly places: readonly string[];
  /** @throws UsageError or SettingsError, which are shown */
  readonly runTests: () => Promise<unknown>;
}

/** Resolves to the exit code when the process is asked to end. */
export async function watchTests({ places, runTests }: WatchTestsInput): Promise<number> {
  const stop = new AbortController();
  void stopSignals.untilSignal().then(() => {
    stop.abort();
  });
  while (!stop.signal.aborted) {
    // Before the run, so that a change during the run counts.
    const state = await stateOf(places);
    if (process.stdout.isTTY) process.stdout.write(CLEAR_SCREEN);
    await runTests().catch((error: unknown) => {
      if (!(error instanceof UsageError || error instanceof SettingsError)) throw error;
      process.stderr.write(`${error.message}\n`);
    });
    process.stderr.write('waiting for changes\n');
    await untilChanged(places, { state, signal: stop.signal });
  }
  return 0;
}

interface UntilChangedInput {
  readonly state: string;
  readonly signal: AbortSignal;
}

/** Waits for a change that has lasted for two looks: an editor writes in steps. */
async function untilChanged(places: readonly string[], { state, signal }: UntilChangedInput): Promise<void> {
  let before = state;
  while (!signal.aborted) {
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    const now = await stateOf(places);
    if (now !== state && now === before) return;
    before = now;
  }
}

/** A text that changes when a file of tests or a configuration may have changed. */
async function stateOf(places: readonly string[]): Promise<string> {
  const names = await namesOfTestFiles(places).catch((error: unknown) => asError(error).message);
  if (typeof names === 'string') return names;
  const seen = await Promise.all(names.map(async (name) => `${name} ${await stampOf(name)}`));
  for (const place of await configurationsOf(names)) seen.push((await lookAt({ kind: 'path', path: place })).fingerprint);
  return seen.join('\n');
}

async function stampOf(name: string): Promise<string> {
  const stats = await stat(name, { bigint: true }).catch(() => undefined);
  return stats === undefined ? 'gone' : `${stats.ino} ${stats.size} ${stats.mtimeNs}`;
}

/** The configurations that valid files name. */
async function configurationsOf(names: readonly string[]): Promise<readonly string[]> {
  const texts = await findTestFiles(names).catch(() => []);
  const places = texts.flatMap((text) => {
    const file = readTestFile(text, new ProblemList());
    return (file?.configuration ?? []).map((each) => path.resolve(path.dirname(text.name), each));
  });
  return [...new Set(places)];
}
