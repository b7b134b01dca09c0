/** Writes `src/administration/admin-client/operations.ts`: the operations that the commands and the console call, with their types, from the table of routes. */

import type { TSchema } from '@sinclair/typebox';
import type { AdminRoute } from '../../../src/administration/admin/route/route';

/** The width at which the formatter breaks lines. */
const LINE_CHARS_MAX = 140;

/** Fewer fields in common are a coincidence. */
const COMMON_FIELDS_MIN = 4;

/** The types that operations share, each with a place that has it: an operation, then the way to the schema, where `[]` is an item. */
const SHARED: Readonly<Record<string, string>> = {
  Role: 'whoami.reply.role',
  Session: 'getSession.reply',
  Unit: 'putOverride.body.limit.unit',
  LimitValues: 'putOverride.body.limit',
  SelectorEntry: 'putOverride.body.entries[]',
  RecordKind: 'explainRequest.reply.control[].kind',
  EffectState: 'listPlansInForce.reply.items[].effect',
  Warning: 'putTenant.reply.warnings[]',
  Terms: 'putTenant.reply.changes[].from',
  TermChange: 'putTenant.reply.changes[]',
  TenantKey: 'getTenant.params',
  WrittenTenant: 'putTenant.reply.after',
  Tenant: 'getTenant.reply',
  TenantWrite: 'putTenant.reply',
  PlanKey: 'getPlan.params',
  WrittenPlan: 'putPlan.reply.after',
  Plan: 'getPlan.reply',
  PlanWrite: 'putPlan.reply',
  ItemKey: 'getOverride.params',
  WrittenOverride: 'putOverride.reply.after',
  Override: 'getOverride.reply',
  OverrideWrite: 'putOverride.reply',
  WrittenBlockOrPass: 'putBlock.reply.after',
  BlockOrPass: 'getBlock.reply',
  BlockOrPassBody: 'putBlock.body',
  BlockOrPassWrite: 'putBlock.reply',
  BlocksOrPasses: 'listBlocks.reply',
  DomainPage: 'listTenants.query',
  WriteOptions: 'putOverride.query',
  AheadOptions: 'putTenant.query',
  DeleteOptions: 'deleteTenant.query',
  AskedLimit: 'listTopKeys.reply.items[].limit',
  ConfiguredValues: 'explainRequest.reply.explanation.descriptors[].limits[].source.replaces',
  RuleLimit: 'listRules.reply.items[].limits[]',
  PlanInForce: 'listPlansInForce.reply.items[]',
  RolloutPart: 'listRolloutStatus.reply.items[].candidate',
  RolloutStatus: 'listRolloutStatus.reply.items[]',
  WrittenRollout: 'putRollout.reply.after',
  RolloutWrite: 'putRollout.reply',
  ExceptionKind: 'listExceptions.reply.items[].kind',
  Exception: 'listExceptions.reply.items[]',
  AuditEntry: 'listAudit.reply.items[]',
  Entry: 'explainRequest.body.descriptors[].entries[]',
  Request: 'explainRequest.body',
  MatchCandidate: 'explainRequest.reply.explanation.descriptors[].levels[].winner',
  MatchLevel: 'explainRequest.reply.explanation.descriptors[].levels[]',
  ShownRecord: 'explainRequest.reply.explanation.descriptors[].block',
  DecidingRecord: 'explainRequest.reply.control[]',
  IdleRecord: 'explainRequest.reply.without_effect[]',
  BucketLimit: 'explainRequest.reply.buckets[].limit',
  Bucket: 'explainRequest.reply.buckets[]',
  LimitSource: 'explainRequest.reply.explanation.descriptors[].limits[].source',
  CandidateLimit: 'explainRequest.reply.explanation.descriptors[].limits[].candidate',
  ExplainedLimit: 'explainRequest.reply.explanation.descriptors[].limits[]',
  PlanSource: 'explainRequest.reply.explanation.descriptors[].plan_source',
  ExplainedDescriptor: 'explainRequest.reply.explanation.descriptors[]',
};

/** The parts of a JSON schema that the routes use. */
interface JsonSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

interface Shared {
  readonly name: string;
  readonly schema: JsonSchema;
}

/** The names of shared types, by the type that stands for each. */
type Names = ReadonlyMap<string, string>;

/** The TypeScript source. */
export function renderOperations(routes: readonly AdminRoute[]): string {
  const shared: Shared[] = Object.entries(SHARED).map(([name, place]) => ({ name, schema: schemaAt(place, routes) }));
  const names: Names = new Map(shared.map(({ name, schema }) => [shapeOf(schema), name]));
  const renderer = new TypeRenderer(names);
  const declarations = shared.map(({ name, schema }, at) => renderer.declaration(name, { schema, before: shared.slice(0, at) }));
  return `/** The operations of the admin API: method, path, and the types of input and reply. Generated from the routes; do not edit. */

${declarations.join('\n')}
export interface Operations {
${routes.map((each) => renderer.operation(each)).join('')}}

export const OPERATIONS = {
${routes.map(({ id, method, path }) => `  ${id}: { method: '${method}', path: '${path}' },\n`).join('')}} as const satisfies Readonly<Record<keyof Operations, { readonly method: string; readonly path: string }>>;
`;
}

function schemaAt(place: string, routes: readonly AdminRoute[]): JsonSchema {
  const [id, part = '', ...way] = place.replaceAll('[]', '.[]').split('.');
  const { params, query, body, reply } = routes.find((each) => each.id === id) ?? {};
  let found = { params, query, body, reply }[part] as JsonSchema | undefined;
  for (const step of way) found = step === '[]' ? found?.items : found?.properties?.[step];
  if (found === undefined) throw new Error(`no route has ${place}`);
  return found;
}

/** Two schemas with the same text have the same type: descriptions and bounds do not count. */
function shapeOf({ type, const: literal, anyOf, items, properties, required }: JsonSchema): string {
  return JSON.stringify([
    ...[type, literal, anyOf?.map(shapeOf), items && shapeOf(items)],
    properties && Object.entries(properties).map(([name, property]) => [name, shapeOf(property), required?.includes(name) ?? false]),
  ]);
}

/** The object before it with the most fields, all of which it has as well. */
function baseOf(schema: JsonSchema, before: readonly Shared[]): Shared | undefined {
  const fieldsOf = ({ properties = {}, required = [] }: JsonSchema) =>
    Object.entries(properties).map(([name, property]) => `${name} ${required.includes(name)} ${shapeOf(property)}`);
  const fields = new Set(fieldsOf(schema));
  const size = (each: Shared) => fieldsOf(each.schema).length;
  return before
    .filter((each) => size(each) >= COMMON_FIELDS_MIN && fieldsOf(each.schema).every((field) => fields.has(field)))
    .sort((one, other) => size(other) - size(one))[0];
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

interface FieldInput {
  readonly schema: JsonSchema;
  readonly indent: string;
  readonly isRequired: boolean;
}

/** Renders types as the formatter would, with the names of those that are shared. */
class TypeRenderer {
  constructor(private readonly names: Names) {}

  declaration(name: string, { schema, before }: { readonly schema: JsonSchema; readonly before: readonly Shared[] }): string {
    if (schema.properties !== undefined) {
      const base = baseOf(schema, before);
      const own = Object.entries(schema.properties).filter(([field]) => base?.schema.properties?.[field] === undefined);
      const rest = { ...schema, properties: Object.fromEntries(own) };
      return `export interface ${name} ${base === undefined ? '' : `extends ${base.name} `}${this.lines(rest, '')}\n`;
    }
    const line = `export type ${name} = ${this.structure(schema, '')};\n`;
    return line.length <= LINE_CHARS_MAX ? line : `export type ${name} =\n${this.alternatives(schema, '  ')};\n`;
  }

  operation({ id, params, query, body, reply }: AdminRoute): string {
    const parts = Object.entries({ params, query, body, reply }).filter(
      (part): part is [string, JsonSchema & TSchema] => part[1] !== undefined,
    );
    const schema = { type: 'object', properties: Object.fromEntries(parts), required: parts.map(([name]) => name) };
    return this.field(id, { schema, indent: '  ', isRequired: true });
  }

  private field(name: string, { schema, indent, isRequired }: FieldInput): string {
    const start = `${indent}readonly ${name}${isRequired ? '' : '?'}:`;
    const short = `${start} ${this.typeOf(schema)};\n`;
    if (short.length <= LINE_CHARS_MAX + 1) return short;
    const line = `${start} ${this.typeOf(schema, indent)};\n`;
    if (line.indexOf('\n') <= LINE_CHARS_MAX) return line;
    // As the formatter: all alternatives on a line of their own if they fit there, else one a line.
    const own = `${indent}  ${this.typeOf(schema, indent)};`;
    if (schema.anyOf !== undefined && !own.includes('\n') && own.length <= LINE_CHARS_MAX) return `${start}\n${own}\n`;
    return `${start}\n${this.alternatives(schema, `${indent}  `)};\n`;
  }

  private alternatives(schema: JsonSchema, indent: string): string {
    return (schema.anyOf ?? [schema]).map((each) => `${indent}| ${this.typeOf(each, indent)}`).join('\n');
  }

  /** Without `indent`: on one line. */
  private typeOf(schema: JsonSchema, indent?: string): string {
    return this.names.get(shapeOf(schema)) ?? this.structure(schema, indent);
  }

  private structure({ type = '', const: literal, anyOf, items, properties = {}, required = [] }: JsonSchema, indent?: string): string {
    if (typeof literal === 'string') return `'${literal}'`;
    if (literal !== undefined) return JSON.stringify(literal);
    if (anyOf !== undefined) return anyOf.map((each) => this.typeOf(each, indent)).join(' | ');
    if (items !== undefined) {
      const item = this.typeOf(items, indent);
      return `readonly ${items.anyOf === undefined || this.names.has(shapeOf(items)) ? item : `(${item})`}[]`;
    }
    if (type !== 'object') return SCALARS[type] ?? 'unknown';
    if (Object.keys(properties).length === 0) return 'Readonly<Record<string, unknown>>';
    if (indent !== undefined) return this.lines({ properties, required }, indent);
    const fields = Object.entries(properties).map(
      ([name, each]) => `readonly ${name}${required.includes(name) ? '' : '?'}: ${this.typeOf(each)}`,
    );
    return `{ ${fields.join('; ')} }`;
  }

  /** The fields of an object, each on a line of its own. */
  private lines({ properties = {}, required = [] }: JsonSchema, indent: string): string {
    const fields = Object.entries(properties).map(([name, schema]) =>
      this.field(name, { schema, indent: `${indent}  `, isRequired: required.includes(name) }),
    );
    return `{\n${fields.join('')}${indent}}`;
  }
}
