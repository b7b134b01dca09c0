/** The JSON Schema of the chart's values: closed objects whose types are those of the defaults, the constraints, and the settings of Weir by name. */
import { CONSTRAINTS, closed } from './constraints.mjs';

/** @typedef {import('./constraints.mjs').Schema} Schema */
/** @typedef {{ readonly name: string, readonly secret?: boolean }} Setting */

const SETTINGS = 'settings';

/**
 * @param {unknown} values Those of values.yaml.
 * @param {{ settings: readonly Setting[], ownVariables: ReadonlySet<string> }} weir `ownVariables` are set by other values.
 */
export function valuesSchema(values, { settings, ownVariables }) {
  const unused = new Set(Object.keys(CONSTRAINTS));
  const free = settings.filter(({ name, secret }) => secret !== true && !ownVariables.has(name));
  /** @type {(value: unknown, path: string) => Schema} */
  const schemaOf = (value, path) => {
    const constraint = CONSTRAINTS[path];
    if (constraint !== undefined) {
      unused.delete(path);
      return constraint;
    }
    if (path === SETTINGS) return settingsSchema(free);
    if (!isMap(value)) return { type: typeOf(value, path) };
    return closed(
      Object.fromEntries(Object.entries(value).map(([name, part]) => [name, schemaOf(part, path === '' ? name : `${path}.${name}`)])),
    );
  };
  const { properties } = schemaOf(values, '');
  if (unused.size > 0) throw new Error(`constraints.mjs has paths that values.yaml does not: ${[...unused].join(', ')}`);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Values of the chart weir',
    // Helm adds `global` for a chart within another.
    ...closed({ .../** @type {Record<string, Schema>} */ (properties), global: { type: 'object' } }),
  };
}

/** @param {readonly Setting[]} settings */
function settingsSchema(settings) {
  const value = { type: ['string', 'number', 'boolean'] };
  return {
    ...closed(Object.fromEntries(settings.map(({ name }) => [name, value]))),
    patternProperties: { '^DOG_STATSD_MOGRIFIER_[A-Za-z0-9_]+_(PATTERN|NAME|TAGS)$': value },
  };
}

/**
 * @param {unknown} value
 * @param {string} path
 */
function typeOf(value, path) {
  if (typeof value === 'number') return 'integer';
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value;
  throw new Error(`values.yaml: ${path} has no type of its own; add a constraint for it to constraints.mjs`);
}

/**
 * A map with entries: an empty one needs a constraint.
 *
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isMap(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
}
