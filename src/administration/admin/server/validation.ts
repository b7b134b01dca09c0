/** Validates the parts of a request by their JSON schemas, and names every invalid field with what it accepts. */

import type { TSchema } from '@sinclair/typebox';
import { TypeCompiler, ValueErrorType, type ValueError } from '@sinclair/typebox/compiler';
import { Value } from '@sinclair/typebox/value';
import { didYouMean } from '../../../lib/text/did-you-mean';
import { AdminProblem, type FieldError } from '../problem';
import { expectationOf, type JsonSchema } from './expectation';

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
      if (errors.every((each) => each.field !== field)) errors.push({ field, problem: describe(error, schema) });
    }
    return { error: new AdminProblem('invalid', `${part} of the request: ${errors.length} invalid field(s)`, { errors }) };
  };
}

/** Without the value, which may be a secret in the wrong place. */
function describe({ type, path, schema: found }: ValueError, whole: TSchema): string {
  const schema = found as JsonSchema;
  if (type === ValueErrorType.ObjectRequiredProperty) return `it is missing; give ${expectationOf(schema)}`;
  if (type !== ValueErrorType.ObjectAdditionalProperties) return `it must be ${expectationOf(schema)}`;
  const [name = '', ...above] = path.split('/').reverse();
  const known = Object.keys(propertiesAt(whole as JsonSchema, above.reverse().slice(1)));
  const guess = didYouMean(name, known);
  const advice = guess === undefined ? `use one of ${known.join(', ')}` : `did you mean ${guess}?`;
  return known.length === 0 ? 'it is not a known field; remove it' : `it is not a known field; ${advice}`;
}

/** The properties of the object at this place of the schema. */
function propertiesAt(schema: JsonSchema, path: readonly string[]): Readonly<Record<string, unknown>> {
  const [step, ...rest] = path;
  if (step === undefined) return schema.properties ?? {};
  const inner = schema.items ?? schema.properties?.[step];
  return inner === undefined ? {} : propertiesAt(inner, rest);
}
