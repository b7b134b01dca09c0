/** Writes the tenants of a file in batches: counts what was written, and names the lines that were refused. A repeated import goes on where the last one stopped. */

import { RECORDS_MAX } from '../../../../state/control/control-record';
import { backoffMs } from '../../../../lib/backoff';
import { AdminError } from '../../admin/admin-error';
import type { Input } from '../../admin/admin-client';
import type { Operations } from '../../../../administration/admin-client/operations';
import { SeenTenants } from './seen-tenants';
import type { Line, TenantRow } from './tenant-rows';

/** Tenants of one write, which is the most that the API takes. */
const BATCH = 50;

/** Refused lines, and lines without an effect, that are kept for the reply. */
export const NAMED_MAX = 100;

/** Tries of a batch without an answer, before the import gives up: about a minute. */
const TRIES_MAX = 10;

const WAIT = { firstMs: 250, maxMs: 10_000, factor: 2 };

const PROGRESS_MS = 2_000;

export type ImportReply = Operations['importTenants']['reply'];

export type ImportBody = Input<'importTenants'>['body'];

export interface NamedLine {
  readonly line: number;
  readonly problem: string;
}

export interface ImportCounts {
  /** The last line that was read. */
  readonly line: number;
  readonly tenants: number;
  readonly written: number;
  readonly same: number;
  readonly refused: number;
  readonly withoutEffect: number;
}

export interface ImportOptions {
  /** Writes a batch. */
  readonly send: (body: ImportBody) => Promise<ImportReply>;
  /** The name of the file, for the audit log. */
  readonly source: string;
  readonly reason: string | undefined;
  readonly nowMs: () => number;
  readonly pause: (ms: number) => Promise<void>;
  /** Called at most every two seconds. */
  readonly onProgress: (counts: ImportCounts) => void;
  /** Called with the first lines that are refused, and the first without an effect. */
  readonly onNamed: (kind: 'refused' | 'warning', named: NamedLine) => void;
  /** Called before each wait for a server that does not answer. */
  readonly onPause: (reason: string, waitMs: number) => void;
}

interface BatchRow extends TenantRow {
  readonly line: number;
}

export class TenantImport {
  readonly refused: NamedLine[] = [];
  readonly withoutEffect: NamedLine[] = [];
  private readonly seen = new SeenTenants();
  private readonly counts = { line: 0, tenants: 0, written: 0, same: 0, refused: 0, withoutEffect: 0 };
  private batch: BatchRow[] = [];
  private shownMs: number;
  private hasAnswered = false;

  constructor(private readonly options: ImportOptions) {
    this.shownMs = options.nowMs();
  }

  /** Rejects with an AdminError if it cannot go on; what was written stays. */
  async run(lines: AsyncIterable<Line>): Promise<ImportCounts> {
    try {
      for await (const each of lines) {
        this.counts.line = each.line;
        this.counts.tenants += 1;
        if ('problem' in each) this.refuse(each);
        else this.add({ ...each.row, line: each.line });
        if (this.batch.length === BATCH) await this.flush();
        this.showProgress();
      }
      if (this.batch.length > 0) await this.flush();
    } catch (error) {
      if (!(error instanceof AdminError) || this.counts.written + this.counts.same === 0) throw error;
      const { written, same } = this.counts;
      const [first] = this.batch;
      const place = first === undefined ? '' : ` before line ${first.line}`;
      throw new AdminError(
        `stopped${place} after ${written} written and ${same} the same: ${error.message}; the same command goes on from there`,
      );
    }
    return this.counts;
  }

  private add(row: BatchRow): void {
    const before = this.seen.add(row.tenant, row.line);
    if (before !== undefined) this.refuse({ line: row.line, problem: `line ${before} has this tenant already; remove one of them` });
    else this.batch.push(row);
    if (this.seen.size > RECORDS_MAX.tenant)
      throw new AdminError(`line ${row.line}: these are more than ${RECORDS_MAX.tenant} tenants, which is the most that a store keeps`);
  }

  private refuse(named: NamedLine): void {
    this.counts.refused += 1;
    if (this.refused.length === NAMED_MAX) return;
    this.refused.push(named);
    this.options.onNamed('refused', named);
  }

  private warn(named: NamedLine): void {
    this.counts.withoutEffect += 1;
    if (this.withoutEffect.length === NAMED_MAX) return;
    this.withoutEffect.push(named);
    this.options.onNamed('warning', named);
  }

  private async flush(): Promise<void> {
    const rows = this.batch;
    const { source, reason } = this.options;
    const lineOf = (index: number): number => rows[index]?.line ?? 0;
    const reply = await this.sent({
      items: rows.map(({ line, ...item }) => item),
      source: `${source}, lines ${lineOf(0)} to ${lineOf(rows.length - 1)}`,
      ...(reason !== undefined && { reason }),
    });
    this.counts.written += reply.written;
    this.counts.same += reply.same;
    for (const { index, problem } of reply.refused) this.refuse({ line: lineOf(index), problem });
    for (const { index, warnings } of reply.without_effect)
      this.warn({ line: lineOf(index), problem: warnings.map(({ message }) => message).join('; ') });
    this.batch = [];
  }

  /** A batch that was written although its answer was lost is the same when it is sent again. */
  private async sent(body: ImportBody): Promise<ImportReply> {
    for (let failures = 0; ; failures += 1) {
      try {
        const reply = await this.options.send(body);
        this.hasAnswered = true;
        return reply;
      } catch (error) {
        if (!(error instanceof AdminError) || error.isFinal || !this.hasAnswered || failures === TRIES_MAX) throw error;
        const waitMs = backoffMs({ ...WAIT, failures, random: Math.random });
        this.options.onPause(error.message, waitMs);
        await this.options.pause(waitMs);
      }
    }
  }

  private showProgress(): void {
    const nowMs = this.options.nowMs();
    if (nowMs - this.shownMs < PROGRESS_MS) return;
    this.shownMs = nowMs;
    this.options.onProgress(this.counts);
  }
}
