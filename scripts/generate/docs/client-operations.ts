/** Writes `src/administration/admin-client/operations.ts`: the operations that the commands and the console call, with their types, from the table of routes. */

import type { TSchema } from '@sinclair/typebox';
import type { AdminRoute } from '../../../src/administration/admin/route/route';

/** The width at which the formatter breaks lines. */
const LINE_CHARS_MAX = 140;

/** The TypeScript source. */
export function renderOperations(routes: readonly AdminRoute[]): string {
  return `/** The operations of the admin API: method, path, and the types of input and reply. Generated from the routes; do not edit. */

export interface Operations {
${routes.map(renderTypes).join('')}}

export const OPERATIONS = {
${routes.map(({ id, method, path }) => `  ${id}: { method: '${method}', path: '${path}' },\n`).join('')}} as const satisfies Readonly<Record<keyof Operations, { readonly method: string; readonly path: string }>>;
`;
}

function renderTypes({ id, params, query, body, reply }: AdminRoute): string {
  const parts = Object.entries({ params, query, body, reply }).filter((part): part is [string, TSchema] => part[1] !== undefined);
  const lines = parts.map(([name, schema]) => renderField(name, { schema, indent: '    ', isRequired: true }));
  return `  readonly ${id}: {\n${lines.join('')}  };\n`;
}

interface FieldInput {
  readonly schema: TSchema;
  readonly indent: string;
  readonly isRequired: boolean;
}

function renderField(name: string, { schema, indent, isRequired }: FieldInput): string {
  const start = `${indent}readonly ${name}${isRequired ? '' : '?'}:`;
  const line = `${start} ${typeOf(schema, indent)};\n`;
  const isTooLong = line.indexOf('\n') > LINE_CHARS_MAX;
  const own = `${indent}  ${typeOf(schema, indent)};`;
  // As the formatter: all alternatives on a line of their own if they fit there, else one a line.
  if (isTooLong && (schema as JsonSchema).anyOf !== undefined && !own.includes('\n') && own.length <= LINE_CHARS_MAX)
    return `${start}\n${own}\n`;
  return isTooLong
    ? `${start}\n${alternativesOf(schema)
        .map((each) => `${indent}  | ${typeOf(each, indent)}`)
        .join('\n')};\n`
    : line;
}

/** The parts of a JSON schema that the routes use. */
interface JsonSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly TSchema[];
  readonly items?: TSchema;
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
}

const SCALARS: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

function alternativesOf(schema: TSchema): readonly TSchema[] {
  return (schema as JsonSchema).anyOf ?? [schema];
}

function typeOf(schema: TSchema, indent: string): string {
  const { type = '', const: literal, anyOf, items, properties = {}, required = [] } = schema as JsonSchema;
  if (typeof literal === 'string') return `'${literal}'`;
  if (literal !== undefined) return JSON.stringify(literal);
  if (anyOf !== undefined) return anyOf.map((each) => typeOf(each, indent)).join(' | ');
  if (items !== undefined)
    return `readonly ${(items as JsonSchema).anyOf === undefined ? typeOf(items, indent) : `(${typeOf(items, indent)})`}[]`;
  if (type !== 'object') return SCALARS[type] ?? 'unknown';
  const fields = Object.entries(properties);
  if (fields.length === 0) return 'Readonly<Record<string, unknown>>';
  const lines = fields.map(([name, field]) =>
    renderField(name, { schema: field, indent: `${indent}  `, isRequired: required.includes(name) }),
  );
  return `{\n${lines.join('')}${indent}}`;
}
