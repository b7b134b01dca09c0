/** Reads several logs as one, in the order of the times of their lines. */

import type { LogEvent } from '../event/log-event';
import type { LogFile } from './log-file';
import { TimeOrder } from './time-order';

export interface MergedLogsOptions {
  readonly files: readonly LogFile[];
  /** Lines may be that much later than others with a later time. */
  readonly reorderUs: number;
  /** The object that waits in place of a request; undefined: the line sends no request. */
  readonly hold: (event: LogEvent) => LogEvent | undefined;
  readonly onEvent: (event: LogEvent, file: LogFile) => void;
  /** Called between reads of a log; true ends the reading. */
  readonly isStopped: () => boolean;
}

/** Requests between two looks at the clock and at signals. */
const STEPS = 8_192;

/** Resolves once all logs have ended or the caller stops. */
export async function readMerged({ files, reorderUs, hold, onEvent, isStopped }: MergedLogsOptions): Promise<void> {
  const open: LogFile[] = [];
  for (const file of files) if (await advance(file, isStopped)) open.push(file);
  const order = new TimeOrder(reorderUs);
  let steps = 0;
  let [next] = open;
  while (next !== undefined) {
    const { event } = next;
    if (event !== undefined && event.timeUs < order.releasedUs) next.wrong(lateMessage(event, order, reorderUs));
    else if (event !== undefined) {
      const held = hold(event);
      if (held !== undefined) order.add(held);
    }
    for (let due = order.release(); due !== undefined; due = order.release()) onEvent(due, next);
    if (!next.next()) {
      if (!(await advance(next, isStopped))) open.splice(open.indexOf(next), 1);
      if (isStopped()) return;
    } else if ((steps += 1) % STEPS === 0 && isStopped()) return;
    next = open.length > 1 ? earliestOf(open) : open[0];
  }
  const [last] = files;
  if (last === undefined) return;
  for (let due = order.release(true); due !== undefined; due = order.release(true)) {
    onEvent(due, last);
    if ((steps += 1) % STEPS === 0 && isStopped()) return;
  }
}

function lateMessage({ timeUs }: LogEvent, order: TimeOrder, reorderUs: number): string {
  const lateS = (order.releasedUs - timeUs) / 1_000_000;
  return `is ${lateS.toFixed(1)} s before a line that was replayed; lines wait ${reorderUs / 1_000_000} s for earlier ones (--reorder)`;
}

/** Reads up to the next request of the log; false at its end, or when the caller stops. */
async function advance(file: LogFile, isStopped: () => boolean): Promise<boolean> {
  while (!isStopped() && (await file.fill())) if (file.next()) return true;
  file.event = undefined;
  return false;
}

function earliestOf(open: readonly LogFile[]): LogFile | undefined {
  let earliest: LogFile | undefined;
  for (const file of open) if (earliest === undefined || timeOf(file) < timeOf(earliest)) earliest = file;
  return earliest;
}

function timeOf({ event }: LogFile): number {
  return event?.timeUs ?? Infinity;
}
