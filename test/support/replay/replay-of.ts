/** Replays texts of logs in a folder of its own, without a process. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ProblemList } from '../../../src/configuration/problems/problem-list';
import type { LogFormat } from '../../../src/program/cli/replay/formats/log-formats';
import { readMapping } from '../../../src/program/cli/replay/mapping/read-mapping';
import { makeReport, type ReplayReport } from '../../../src/program/cli/replay/report/replay-report';
import { loadConfiguration, runReplay, type LoadedConfiguration } from '../../../src/program/cli/replay/run/run-replay';

const FOLDER = mkdtempSync(path.join(tmpdir(), 'weir-replay-'));

afterAll(() => {
  rmSync(FOLDER, { recursive: true, force: true });
});

let files = 0;

/** The path of a new file with this content. */
export function fileOf(content: string | Uint8Array, name = 'log'): string {
  files += 1;
  const file = path.join(FOLDER, `${files}-${name}`);
  writeFileSync(file, content);
  return file;
}

export function configurationOf(yaml: string): Promise<LoadedConfiguration> {
  return loadConfiguration(fileOf(yaml, 'config.yaml'), {});
}

export interface ReplayOfOptions {
  readonly logs: readonly (string | Uint8Array)[];
  /** In force, then the candidate. */
  readonly configurations: readonly LoadedConfiguration[];
  /** The text of a mapping. Absent: the logs are decision logs. */
  readonly map?: string;
  readonly format?: LogFormat;
  readonly reorderUs?: number;
  readonly bucketsMax?: number;
  readonly errorsMax?: number;
  readonly suggest?: number;
  readonly top?: number;
}

export async function replayOf({
  logs,
  map,
  configurations,
  format,
  suggest,
  top = 1_000,
  ...rest
}: ReplayOfOptions): Promise<ReplayReport> {
  const list = new ProblemList();
  const mapping = map === undefined ? undefined : readMapping({ name: 'map.yaml', text: map }, list);
  list.throwIfAny();
  const outcome = await runReplay({
    logs: logs.map((log) => fileOf(log)),
    configurations,
    format,
    mapping,
    reorderUs: rest.reorderUs ?? 10_000_000,
    bucketsMax: rest.bucketsMax ?? 1_000_000,
    errorsMax: rest.errorsMax ?? 1_000_000,
    isInterrupted: () => false,
    onProgress: () => undefined,
  });
  return makeReport(outcome, { top, suggest });
}
