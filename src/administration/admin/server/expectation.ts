/** Says in words what a field of a request accepts, with an example. */

/** The parts of a JSON schema that the routes use. */
export interface JsonSchema {
  readonly type?: string;
  readonly const?: string | number | boolean | null;
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
}

const TIME = '2030-01-31T12:00:00Z';

/** The rest of `it must be …`. */
export function expectationOf(schema: JsonSchema): string {
  const { type, anyOf, const: only, minimum = 0, maximum, minItems = 0, maxItems } = schema;
  if (only !== undefined) return String(only);
  const [first, ...others] = anyOf ?? [];
  if (first !== undefined)
    return others.length === 0 ? expectationOf(first) : `one of ${[first, ...others].map((each) => expectationOf(each)).join(', ')}`;
  switch (type) {
    case 'string':
      return textOf(schema);
    case 'integer':
    case 'number': {
      const what = type === 'integer' ? 'a whole number' : 'a number';
      return maximum === undefined ? `${what} of at least ${minimum}` : `${what} from ${minimum} to ${maximum}`;
    }
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list of ${minItems} to ${maxItems ?? 'any number of'} items, such as ${JSON.stringify(exampleOf(schema))}`;
    case undefined:
    default:
      return `an object, such as ${JSON.stringify(exampleOf(schema))}`;
  }
}

function textOf({ minLength = 0, maxLength, pattern, format }: JsonSchema): string {
  if (format === 'date-time') return `a time such as ${TIME}`;
  const length = maxLength === undefined ? '' : ` of ${minLength} to ${maxLength} characters`;
  return `a text${length}${pattern === undefined ? '' : ` that matches ${pattern}, such as "name-1"`}`;
}

/** The smallest value that the schema accepts. */
function exampleOf({ type, anyOf, const: only, items, properties = {}, required = [], minimum = 0, pattern, format }: JsonSchema): unknown {
  if (only !== undefined) return only;
  const [first] = anyOf ?? [];
  if (first !== undefined) return exampleOf(first);
  if (type === 'integer' || type === 'number') return Math.max(1, minimum);
  if (type === 'boolean') return true;
  if (type === 'string') return format === 'date-time' ? TIME : pattern === undefined ? 'text' : 'name-1';
  if (type === 'array') return items === undefined ? [] : [exampleOf(items)];
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, field]) => (required.includes(name) ? [[name, exampleOf(field)]] : [])),
  );
}
