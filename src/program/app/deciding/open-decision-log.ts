/** Opens the decision log of one process. Imported only if decisions are logged. */

import { toByteString } from '../../../domain/descriptor/byte-string';
import type { DecidedRequest } from '../../../domain/respond/decided/decided-request';
import { monotonicNowMs } from '../../../lib/clock';
import type { DecisionLogChoice } from '../../../configuration/settings/decision-log-choice';
import type { Settings } from '../../../configuration/settings/table/settings';
import { DecisionLine } from '../../../server/observability/decision-log/decision-line';
import { DecisionLog } from '../../../server/observability/decision-log/decision-log';
import { HashedValues } from '../../../server/observability/decision-log/hashed-values';
import { LineWriter } from '../../../server/observability/decision-log/line-writer';
import { LogFile } from '../../../server/observability/decision-log/log-file';
import { StandardOutput } from '../../../server/observability/decision-log/standard-output';
import { LostLinesLog } from '../../../server/observability/log/lost-lines-log';
import { makeDecisionLogMetrics } from '../../../server/observability/metrics/metrics';
import type { Context } from '../context/context';

/** Bytes of lines that wait: a third of a second of the fastest server. */
const QUEUE_BYTES_MAX = 8 * 1024 * 1024;

/** How long lines wait for others, and how long a file that cannot be written is left alone, in milliseconds. */
const FLUSH_MS = 100;
const RETRY_MS = 1_000;

/** How long a process that ends waits for its last lines to be written, in milliseconds. */
const CLOSE_MS = 1_500;

export interface OpenedDecisionLog {
  record(decided: DecidedRequest): void;
  /** Opens the file again, for example because it was renamed. */
  reopen(): void;
  /** Writes the last lines, for a bounded time. */
  close(): Promise<void>;
}

export function openDecisionLog(
  { settings, registry, log }: Pick<Context, 'settings' | 'registry' | 'log'>,
  { place, hashing }: DecisionLogChoice,
): OpenedDecisionLog {
  const file = place === 'stdout' ? undefined : openFile(place.path, settings);
  const trouble = new LostLinesLog({ log, nowMs: monotonicNowMs, path: place === 'stdout' ? place : place.path });
  const writer = new LineWriter({
    sink: file ?? new StandardOutput(),
    bytesMax: QUEUE_BYTES_MAX,
    flushMs: FLUSH_MS,
    retryMs: RETRY_MS,
    onTrouble: (cause) => {
      trouble.onTrouble(cause);
    },
    onEnd: (lost) => {
      trouble.onEnd(lost);
    },
  });
  makeDecisionLogMetrics(registry, () => writer.counts);
  const { decisionLogSample: sample, decisionLogOnly: only, decisionLogFields: fields } = settings;
  const hashed = hashing && new HashedValues({ secret: hashing.secret, keys: hashing.keys.map(toByteString) });
  const line = new DecisionLine({ fields, sample, hashed });
  const decisionLog = new DecisionLog({ sample, onlyDenied: only === 'denied', line, writer, random: Math.random });
  return {
    record: (decided) => {
      decisionLog.record(decided);
    },
    reopen: () => {
      file?.reopen();
      writer.prepare();
    },
    close: () => writer.close({ timeoutMs: CLOSE_MS }),
  };
}

function openFile(path: string, { decisionLogMaxBytes: bytesMax, decisionLogFiles: filesMax }: Settings): LogFile {
  return new LogFile({ path, bytesMax, filesMax, nowMs: monotonicNowMs });
}
