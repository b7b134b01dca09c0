/** The actions of every kind of record: list, show, set and delete. */

import type { AdminClient, Preconditions } from '../admin/admin-client';
import { printable } from '../admin/printable';
import { UsageError } from '../usage-error';
import { action, type ControlCommand, type ControlOptions, type Values, type WriteWarning } from './control-command';
import { COUNT_OPTION, readPages, withMore } from './values/pages';
import { fieldList, textTable, type Cell } from './values/text-table';
import { readUntil, shortTime, showTime } from './values/until';

/** The common fields of all records. */
interface WrittenRecord {
  readonly domain: string;
  readonly until?: string;
  readonly reason?: string;
  readonly author?: string;
  readonly created_at?: string;
}

type StoredRecord<Written extends WrittenRecord> = Written & { readonly version: number };

interface WriteReply<Written extends WrittenRecord> {
  readonly dry_run: boolean;
  readonly changed: boolean;
  readonly version?: number;
  readonly before?: StoredRecord<Written>;
  readonly after?: Written;
  readonly warnings: readonly WriteWarning[];
}

/** Names a record of the kind. */
export interface Named {
  readonly domain: string;
  readonly name: string;
}

interface WriteQuery {
  readonly dry_run?: boolean;
  readonly strict?: boolean;
}

/** The parts of a write that all kinds share. */
export interface WriteInput extends Named {
  readonly query: WriteQuery;
  /** The end and the reason, for the body. */
  readonly common: { readonly until?: string; readonly reason?: string };
  readonly conditions: Preconditions;
}

export interface DeleteInput extends Named {
  readonly query: WriteQuery & { readonly reason?: string };
  readonly conditions: Preconditions;
}

interface RecordCommandOptions<Written extends WrittenRecord, Options extends ControlOptions> {
  /** The command, which is the word for one record. */
  readonly name: string;
  /** The word for several. */
  readonly plural: string;
  /** The name of a record in the help: `ID`. */
  readonly operand: string;
  /** The effect of a write: the end of a sentence. */
  readonly effect: string;
  /** Options of `set` that give the record its values. */
  readonly options: Options;
  readonly list: (
    admin: AdminClient,
    query: { readonly limit: number; readonly cursor?: string; readonly domain?: string },
  ) => Promise<{ readonly items: readonly StoredRecord<Written>[]; readonly next?: string }>;
  readonly show: (admin: AdminClient, named: Named) => Promise<StoredRecord<Written>>;
  readonly put: (admin: AdminClient, input: WriteInput, values: Values<Options>) => Promise<WriteReply<Written>>;
  readonly remove: (admin: AdminClient, input: DeleteInput) => Promise<WriteReply<Written>>;
  readonly fields: RecordFields<Written>;
}

/** The record's name, and its own fields, by the headers of their columns. */
export type RecordFields<Written> = (record: Written) => Readonly<Record<string, Cell>>;

export const DOMAIN_OPTION = { domain: { type: 'string', form: 'DOMAIN', required: true, help: 'domain of the configuration' } } as const;

export const AHEAD_OPTION = { type: 'boolean', help: 'accept a plan that the configuration in force does not have yet' } as const;

export const REASON_OPTION = { reason: { type: 'string', form: 'TEXT', help: 'why; for the audit log' } } as const;

export const CHECK_OPTIONS = {
  'dry-run': { type: 'boolean', help: 'only show what would change' },
  strict: { type: 'boolean', help: 'refuse a write that has no effect, or only a part of it' },
} as const;

const IF_MATCH_OPTION = {
  'if-match': { type: 'string', form: 'VERSION', help: 'refuse the write unless the record has this version' },
} as const;

/** The options of a change to a record that exists. */
export const changeOptions = { ...DOMAIN_OPTION, ...REASON_OPTION, ...CHECK_OPTIONS, ...IF_MATCH_OPTION } as const;

const SET_OPTIONS = {
  ...changeOptions,
  until: { type: 'string', form: 'TIME', help: 'when it ends: 90m, 12h, 2d, or 2026-11-27T18:00:00Z (default: never)' },
  'create-only': { type: 'boolean', help: 'refuse the write if the record exists' },
} as const;

export function recordCommand<Written extends WrittenRecord, const Options extends ControlOptions>(
  kind: RecordCommandOptions<Written, Options>,
): ControlCommand {
  return { name: kind.name, actions: [listAction(kind), showAction(kind), setAction(kind), deleteAction(kind)] };
}

function listAction<Written extends WrittenRecord, const Options extends ControlOptions>(kind: RecordCommandOptions<Written, Options>) {
  const { plural } = kind;
  return action({
    name: 'list',
    purpose: `Lists the ${plural}.`,
    options: { domain: { type: 'string', form: 'DOMAIN', help: 'domain of the configuration' }, ...COUNT_OPTION },
    run: async ({ admin, values: { domain, count }, print }) => {
      const listed = await readPages(count, (page) => kind.list(admin, { ...page, ...(domain !== undefined && { domain }) }));
      print({ items: listed.items }, () => withMore(recordTable(listed.items, kind), listed));
    },
  });
}

function showAction<Written extends WrittenRecord, const Options extends ControlOptions>(kind: RecordCommandOptions<Written, Options>) {
  const { name, operand: form } = kind;
  return action({
    name: 'show',
    purpose: `Shows a ${name}, with its version.`.replace('a override', 'an override'),
    operand: { form },
    options: DOMAIN_OPTION,
    run: async ({ admin, values: { domain }, operand: of, nowMs, print }) => {
      const record = await kind.show(admin, { domain: domain, name: of });
      print(record, () => fieldList([...fieldsOf(record, kind, nowMs), ['version', record.version]]));
    },
  });
}

function setAction<Written extends WrittenRecord, const Options extends ControlOptions>(kind: RecordCommandOptions<Written, Options>) {
  const { name, operand: form, effect } = kind;
  return action({
    name: 'set',
    purpose: `Creates or replaces a ${name}, which ${effect}.`.replace('a override', 'an override'),
    operand: { form },
    options: { ...SET_OPTIONS, ...kind.options },
    run: async (call) => {
      const values = call.values as Values<typeof SET_OPTIONS>;
      const { until, reason } = values;
      const common = {
        ...(until !== undefined && { until: readUntil(until, call.nowMs) }),
        ...(reason !== undefined && { reason }),
      };
      const input = { domain: values.domain, name: call.operand, query: checksOf(values), common, conditions: conditionsOf(values) };
      const reply = await kind.put(call.admin, input, call.values as Values<Options>);
      call.print(reply, () => writtenText(reply, { ...kind, of: input, nowMs: call.nowMs }));
      call.warn(reply.warnings);
    },
  });
}

function deleteAction<Written extends WrittenRecord, const Options extends ControlOptions>(kind: RecordCommandOptions<Written, Options>) {
  const { name, operand: form } = kind;
  return action({
    name: 'delete',
    purpose: `Deletes a ${name}.`.replace('a override', 'an override'),
    operand: { form },
    options: changeOptions,
    run: async (call) => {
      const { domain, reason, query: checks, conditions } = readChange(call.values);
      const query = { ...checks, ...(reason !== undefined && { reason }) };
      const input = { domain, name: call.operand, query, conditions };
      const reply = await kind.remove(call.admin, input);
      call.print(reply, () => writtenText(reply, { ...kind, of: input, nowMs: call.nowMs }));
      call.warn(reply.warnings);
    },
  });
}

export function checksOf({ 'dry-run': isDry, strict }: Values<typeof CHECK_OPTIONS>): WriteQuery {
  return { ...(isDry === true && { dry_run: true }), ...(strict === true && { strict: true }) };
}

/** @throws UsageError */
export function readChange(values: Values<typeof changeOptions>) {
  const { domain, reason } = values;
  return { domain: domain, reason, query: checksOf(values), conditions: conditionsOf(values) };
}

function conditionsOf(values: Values<typeof IF_MATCH_OPTION & Pick<typeof SET_OPTIONS, 'create-only'>>): Preconditions {
  const { 'if-match': version, 'create-only': createOnly = false } = values;
  if (version === undefined) return createOnly ? { ifNoneMatch: '*' } : {};
  if (createOnly) throw new UsageError('--if-match names a record that exists, and --create-only one that does not; give one of the two');
  const [, digits] = /^"?(\d{1,16})"?$/.exec(version) ?? [];
  if (digits === undefined)
    throw new UsageError(`--if-match: ${JSON.stringify(version)} is not a version; give the number that show prints`);
  return { ifMatch: `"${digits}"` };
}

type Fields<Written extends WrittenRecord> = Pick<RecordCommandOptions<Written, ControlOptions>, 'fields'>;

function recordTable<Written extends WrittenRecord>(items: readonly StoredRecord<Written>[], { fields }: Fields<Written>): string {
  const [first] = items;
  if (first === undefined) return 'There are none.';
  const headers = ['domain', ...Object.keys(fields(first)), 'until', 'reason', 'author', 'version'];
  const rows = items.map((item) => [
    item.domain,
    ...Object.values(fields(item)),
    item.until === undefined ? undefined : shortTime(item.until),
    item.reason,
    item.author,
    item.version,
  ]);
  return textTable(
    headers.map((header) => header.toUpperCase()),
    rows,
  );
}

type FieldRows = readonly (readonly [name: string, value: Cell])[];

function fieldsOf<Written extends WrittenRecord>(record: Written, { fields }: Fields<Written>, nowMs: number): FieldRows {
  const { domain, until, reason, author, created_at: createdAt } = record;
  return [
    ['domain', domain],
    ...Object.entries(fields(record)),
    ['until', until === undefined ? 'no end' : showTime(until, nowMs)],
    ['reason', reason],
    ['author', author],
    ['created', createdAt === undefined ? undefined : showTime(createdAt, nowMs)],
  ];
}

interface DescribeOptions<Written extends WrittenRecord> extends Pick<RecordCommandOptions<Written, ControlOptions>, 'name' | 'fields'> {
  readonly of: Named;
  readonly nowMs: number;
}

/** `Block payments/b1 created, version 12.`, and the fields; a value that differs with the one before. */
export function writtenText<Written extends WrittenRecord>(
  reply: WriteReply<Written>,
  { of, nowMs, ...kind }: DescribeOptions<Written>,
): string {
  const { dry_run: isDryRun, changed, version, before, after } = reply;
  const done = !changed ? 'unchanged' : after === undefined ? 'deleted' : before === undefined ? 'created' : 'replaced';
  const would = changed ? `would be ${done}` : 'would not change';
  const subject = `${kind.name.charAt(0).toUpperCase()}${kind.name.slice(1)} ${printable(`${of.domain}/${of.name}`)}`;
  const head = isDryRun ? `Dry run: ${subject} ${would}.` : `${subject} ${done}${version === undefined ? '' : `, version ${version}`}.`;
  const record = after ?? before;
  if (record === undefined) return head;
  const old = new Map(before === undefined ? [] : fieldsOf<Written>(before, kind, nowMs));
  const rows = fieldsOf(record, kind, nowMs).map(([name, value]): readonly [string, Cell] => {
    const was = old.get(name);
    return [name, was === undefined || was === value ? value : `${was} -> ${value ?? '-'}`];
  });
  return `${head}\n${fieldList(rows)}`;
}
