/** `weir tenant import`: moves the tenants of a file in. */

import { createReadStream } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AdminClient, Input } from '../../admin/admin-client';
import { AdminError } from '../../admin/admin-error';
import { printable } from '../../admin/printable';
import { readChoice, UsageError } from '../../usage-error';
import { NAMED_MAX, TenantImport, type ImportCounts } from './import-tenants';
import { FORMATS, readRows, type Format } from './tenant-rows';

const COMMAND = 'weir tenant import';

/** Characters of the name of the file in the audit log. */
const SOURCE_CHARS_MAX = 150;

interface ImportInput {
  readonly admin: AdminClient;
  readonly file: string;
  readonly domain: string;
  readonly reason: string | undefined;
  /** Absent: by the name of the file. */
  readonly format: string | undefined;
  readonly query: Input<'importTenants'>['query'];
  readonly print: (reply: unknown, text: () => string) => void;
}

/** Rejects with an AdminError if it cannot go on, or if lines were refused. */
export async function runImport({ admin, file, domain, reason, format, query, print }: ImportInput): Promise<void> {
  const isDry = query.dry_run === true;
  const work = new TenantImport({
    send: (body) => admin.call('importTenants', { params: { domain }, query, body }),
    source: path.basename(file).slice(0, SOURCE_CHARS_MAX),
    reason,
    nowMs: Date.now,
    pause: (ms) => sleep(ms),
    onProgress: (counts) => {
      console.error(`${COMMAND}: line ${counts.line}: ${countsText(counts, isDry)}`);
    },
    onNamed: (kind, { line, problem }) => {
      console.error(printable(`${kind}: line ${line}: ${problem}`));
    },
    onPause: (problem, waitMs) => {
      console.error(`${COMMAND}: ${problem}; it is tried again in ${Math.ceil(waitMs)} ms`);
    },
  });
  const startMs = Date.now();
  const counts = await work.run(readRows(readParts(file), { format: formatOf(file, format), domain }));
  const seconds = (Date.now() - startMs) / 1_000;
  const { tenants, written, same, refused, withoutEffect } = counts;
  const reply = {
    dry_run: isDry,
    tenants,
    written,
    same,
    refused,
    without_effect: withoutEffect,
    refused_lines: work.refused,
    lines_without_effect: work.withoutEffect,
  };
  print(reply, () => `${isDry ? 'Dry run: ' : ''}${tenants} tenants in ${seconds.toFixed(1)} s: ${countsText(counts, isDry)}.`);
  if (refused > 0) throw new AdminError(refusedText(refused));
}

function countsText({ written, same, refused, withoutEffect }: ImportCounts, isDry: boolean): string {
  const parts = [`${written} ${isDry ? 'would be written' : 'written'}`, `${same} the same`, `${refused} refused`];
  return [...parts, ...(withoutEffect > 0 ? [`${withoutEffect} without their whole effect`] : [])].join(', ');
}

function refusedText(refused: number): string {
  const what = refused === 1 ? 'one line was' : `${refused} lines were`;
  const named = refused > NAMED_MAX ? `, of them the first ${NAMED_MAX} are named above` : '';
  return `${what} refused${named}; correct the file, and run the same command again`;
}

function formatOf(file: string, given: string | undefined): Format {
  if (given !== undefined) return readChoice('--format', given, FORMATS);
  const ending = path.extname(file).toLowerCase();
  if (ending === '.csv') return 'csv';
  if (ending === '.jsonl' || ending === '.ndjson') return 'jsonl';
  throw new UsageError(`${COMMAND}: the name ${JSON.stringify(file)} does not end in .csv, .jsonl or .ndjson; give --format`);
}

async function* readParts(file: string): AsyncGenerator<Buffer> {
  try {
    for await (const part of createReadStream(file) as AsyncIterable<Buffer>) yield part;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new AdminError(`${file} can't be read (${code}); check its path`);
  }
}
