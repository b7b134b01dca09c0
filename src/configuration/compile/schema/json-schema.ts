/** The JSON Schema of a configuration file, made from the table of fields. */

import { parse } from 'yaml';
import type { JsonObject, JsonValue } from '../../../domain/rule/rule';
import { orNull, type Field, type Level } from '../field-types/field';
import { LEVELS } from '../fields/levels';

/** Ends with a newline. The first level is the root. */
export function renderJsonSchema([file, ...others]: readonly [Level, ...Level[]] = LEVELS): string {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Rate limit configuration of Weir',
    ...schemaOf(file),
    $defs: Object.fromEntries(others.map((level) => [level.name, schemaOf(level)])),
  };
  return `${JSON.stringify(schema, null, 2)}\n`;
}

function schemaOf({ meaning, entries, ignored, conditions }: Level): JsonObject {
  const fields = entries.map(([, field]) => field);
  const withoutEffect = Object.entries(ignored).map(([name, why]) => [name, { deprecated: true, description: `It ${why}.` }]);
  const required = fields.filter((field) => field.required !== undefined).map(({ name }) => name);
  return {
    description: withoutLinks(meaning),
    type: 'object',
    additionalProperties: false,
    ...(required.length > 0 && { required }),
    properties: Object.fromEntries([...fields.map((field) => [field.name, schemaOfField(field)]), ...withoutEffect]) as JsonObject,
    ...conditions,
  };
}

function schemaOfField({ type, required, meaning, unset, default: value, example }: Field): JsonObject {
  const description = `${withoutLinks(meaning)}${unset === undefined || required !== undefined ? '' : ` Default: ${unset.replaceAll('`', '')}.`}`;
  return {
    description,
    ...(required === undefined ? orNull(type.schema) : type.schema),
    ...(value !== undefined && { default: parse(value) as JsonValue }),
    examples: [parse(example) as JsonValue],
  };
}

/** Editors show descriptions as text. */
function withoutLinks(markdown: string): string {
  return markdown.replace(/\[([^\]]+)\]\([^)]+\)/g, 'docs/$1').replaceAll('`', '');
}
