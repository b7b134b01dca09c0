/** Reads the tenants of a file, CSV or JSON lines, one after the other: what each line has, or why it has none. */

import { RECORD_BOUNDS } from '../../../../state/control/control-record';
import { readRecord, RecordError } from '../../../../state/control/read-record';
import { didYouMean } from '../../../../lib/text/did-you-mean';
import { AdminError } from '../../admin/admin-error';
import { CsvError, CsvReader } from './csv-reader';

export const FORMATS = ['csv', 'jsonl'] as const;

export type Format = (typeof FORMATS)[number];

export interface TenantRow {
  readonly tenant: string;
  readonly plan?: string;
  readonly parent?: string;
  readonly until?: string;
}

/** A line of the file. */
export type Line = { readonly line: number } & ({ readonly row: TenantRow } | { readonly problem: string });

const FIELDS = ['tenant', 'plan', 'parent', 'until'] as const;

/** A tenant has a plan or a parent. */
function missingOf(has: (name: (typeof FIELDS)[number]) => boolean): string | undefined {
  if (!has('tenant')) return 'tenant';
  return has('plan') || has('parent') ? undefined : 'plan';
}

/** Characters of one line of JSON. */
const LINE_CHARS_MAX = 65_536;

/** Rejects with an AdminError if the file is not of the format. */
export async function* readRows(
  parts: AsyncIterable<Buffer>,
  { format, domain }: { readonly format: Format; readonly domain: string },
): AsyncGenerator<Line> {
  const texts = decoded(parts);
  const lines = format === 'csv' ? csvLines(texts) : jsonLines(texts);
  for await (const { line, ...read } of lines) {
    if ('problem' in read) yield { line, problem: read.problem };
    else yield { line, ...checked(read.fields, domain) };
  }
}

async function* decoded(parts: AsyncIterable<Buffer>): AsyncGenerator<string> {
  // A byte order mark is left out.
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (part?: Buffer): string => {
    try {
      return part === undefined ? decoder.decode() : decoder.decode(part, { stream: true });
    } catch {
      throw new AdminError('the file is not UTF-8; save it as UTF-8');
    }
  };
  for await (const part of parts) yield decode(part);
  yield decode();
}

type Fields = Readonly<Record<string, unknown>>;

type ReadLine = { readonly line: number } & ({ readonly fields: Fields } | { readonly problem: string });

async function* csvLines(texts: AsyncIterable<string>): AsyncGenerator<ReadLine> {
  const reader = new CsvReader();
  let columns: readonly string[] | undefined;
  try {
    for await (const { line, fields } of csvRecords(reader, texts)) {
      if (columns === undefined) columns = readColumns(fields);
      else if (fields.length !== columns.length)
        yield { line, problem: `has ${fields.length} fields, and the first line ${columns.length}; quote fields that contain a comma` };
      // An empty field is as if it were absent.
      else yield { line, fields: Object.fromEntries(columns.flatMap((name, i) => (fields[i] === '' ? [] : [[name, fields[i]]]))) };
    }
  } catch (error) {
    throw error instanceof CsvError ? new AdminError(error.message) : error;
  }
  if (columns === undefined) throw new AdminError('the file is empty; its first line must name the columns, as tenant,plan,parent,until');
}

async function* csvRecords(reader: CsvReader, texts: AsyncIterable<string>) {
  for await (const text of texts) yield* reader.push(text);
  yield* reader.end();
}

function readColumns(names: readonly string[]): readonly string[] {
  const columns = names.map((name) => name.trim());
  const advice = `name the columns in the first line, as ${FIELDS.join(',')}, with commas between them`;
  for (const [at, name] of columns.entries()) {
    if (columns.indexOf(name) !== at) throw new AdminError(`line 1: the column ${JSON.stringify(name)} is there twice; ${advice}`);
    const problem = unknownField(name, 'column');
    if (problem !== undefined) throw new AdminError(`line 1: ${problem}; ${advice}`);
  }
  const missing = missingOf((name) => columns.includes(name));
  if (missing !== undefined) throw new AdminError(`line 1: the column ${missing} is missing; ${advice}`);
  return columns;
}

function unknownField(name: string, word: string): string | undefined {
  if ((FIELDS as readonly string[]).includes(name)) return undefined;
  const meant = didYouMean(name, FIELDS);
  const shown = JSON.stringify(name.slice(0, 60));
  return `${shown} is not a ${word} of a tenant${meant === undefined ? '' : `; did you mean ${meant}?`}`;
}

async function* jsonLines(texts: AsyncIterable<string>): AsyncGenerator<ReadLine> {
  let line = 0;
  let rest = '';
  for await (const text of texts) {
    const parts = `${rest}${text}`.split('\n');
    rest = parts.pop() ?? '';
    if (rest.length > LINE_CHARS_MAX)
      throw new AdminError(`line ${line + parts.length + 1} has over ${LINE_CHARS_MAX} characters; write one object in each line`);
    for (const part of parts) {
      line += 1;
      if (part.trim() !== '') yield { line, ...readJson(part) };
    }
  }
  if (rest.trim() !== '') yield { line: line + 1, ...readJson(rest) };
}

function readJson(text: string): { readonly fields: Fields } | { readonly problem: string } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { problem: 'is not JSON; write one object in each line' };
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return { problem: 'is not an object' };
  const fields = json as Fields;
  const problem = Object.keys(fields).flatMap((name) => unknownField(name, 'field') ?? [])[0];
  return problem === undefined ? { fields } : { problem };
}

/** The checks of the store, so that one invalid line does not have the others of its batch refused. */
function checked(fields: Fields, domain: string): { readonly row: TenantRow } | { readonly problem: string } {
  const missing = missingOf((name) => fields[name] !== undefined);
  if (missing !== undefined) return { problem: `has no ${missing}` };
  try {
    const record = readRecord({ ...fields, kind: 'tenant', domain });
    if (record.kind !== 'tenant') throw new RecordError('kind', 'is not tenant');
    const { tenant, plan, parent, untilMs } = record;
    const place = { ...(plan !== undefined && { plan }), ...(parent !== undefined && { parent }) };
    return { row: { tenant, ...place, ...(untilMs !== undefined && { until: new Date(untilMs).toISOString() }) } };
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    return { problem: error.field === 'domain' ? `the domain has over ${RECORD_BOUNDS.domainBytes} bytes` : error.message };
  }
}
