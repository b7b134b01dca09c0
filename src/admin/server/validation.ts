/** Validates the parts of a request by their JSON schemas, and names every invalid field. */

import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler, type ValueError } from '@sinclair/typebox/compiler';
import { Value } from '@sinclair/typebox/value';
import { AdminProblem, type FieldError } from '../problem';

/** Most invalid fields of one reply. */
const ERRORS_MAX = 20;

export type Part = 'path' | 'query' | 'body';

export type Validated = { readonly value: unknown } | { readonly error: AdminProblem };

/** Compiles the schema. Texts of paths and queries are converted to numbers and booleans; bodies must have the right types. */
export function compileValidator(schema: TSchema, part: Part): (data: unknown) => Validated {
  const check = TypeCompiler.Compile(schema);
  return (data) => {
    const value = part === 'body' ? data : Value.Convert(schema, data);
    if (check.Check(value)) return { value };
    const errors: FieldError[] = [];
    for (const error of check.Errors(value)) {
      if (errors.length === ERRORS_MAX) break;
      const field = `${part}${error.path}`;
      // A missing field has a second error, about its type.
      if (errors.every((each) => each.field !== field)) errors.push({ field, problem: describe(error) });
    }
    return { error: new AdminProblem('invalid', `${part} of the request: ${errors.length} invalid field(s)`, { errors }) };
  };
}

/** Without the value, which may be a secret in the wrong place. */
function describe({ message, schema }: ValueError): string {
  const { pattern, format } = schema as { pattern?: string; format?: string };
  const hint = pattern === undefined ? (format === undefined ? '' : ` (${format})`) : ` (${pattern})`;
  return `${message.charAt(0).toLowerCase()}${message.slice(1)}${hint}`;
}
