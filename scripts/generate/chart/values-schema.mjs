/** The JSON Schema of the chart's values: closed objects whose types are those of the defaults, the constraints, and the settings of Weir by name. */
import { CONSTRAINTS, closed } from './constraints.mjs';
import { FOREIGN_NAMES } from './foreign-names.mjs';

/** @typedef {import('./constraints.mjs').Schema} Schema */
/** @typedef {import('../../../src/configuration/settings/table/setting-types.js').ValueForm} ValueForm */
/** @typedef {{ readonly name: string, readonly secret?: boolean, readonly type: { readonly accepts: string, readonly form: ValueForm } }} Setting */

const SETTINGS = 'settings';

/**
 * @param {unknown} values Those of values.yaml.
 * @param {{ settings: readonly Setting[], ownVariables: ReadonlySet<string> }} weir `ownVariables` are set by other values.
 */
export function valuesSchema(values, { settings, ownVariables }) {
  const unused = new Set(Object.keys(CONSTRAINTS));
  const free = freeSettings(settings, ownVariables);
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
    // The templates refuse the names of other charts, because a schema cannot say what this chart calls them.
    ...closed({
      .../** @type {Record<string, Schema>} */ (properties),
      ...Object.fromEntries(Object.entries(FOREIGN_NAMES).map(([name, own]) => [name, { description: `Use ${own}.` }])),
    }),
  };
}

/**
 * What the templates check because a schema cannot, or could not say what is allowed.
 *
 * @param {{ settings: readonly Setting[], ownVariables: ReadonlySet<string> }} weir
 */
export function templateChecks({ settings, ownVariables }) {
  /** @type {(readonly [string, object])[]} */
  const forms = freeSettings(settings, ownVariables).flatMap(({ name, type: { accepts, form } }) =>
    form.kind === 'text' ? [] : [/** @type {const} */ ([name, { accepts: withoutExamples(accepts), ...form }])],
  );
  return { settings: Object.fromEntries(forms), foreignNames: FOREIGN_NAMES };
}

/**
 * The settings that no other value sets, and that may stand in a values file.
 *
 * @param {readonly Setting[]} settings
 * @param {ReadonlySet<string>} ownVariables
 */
function freeSettings(settings, ownVariables) {
  return settings.filter(({ name, secret }) => secret !== true && !ownVariables.has(name));
}

/**
 * Examples of a duration may lie outside of its range.
 *
 * @param {string} accepts
 */
function withoutExamples(accepts) {
  return accepts.replace(/, such as .*$/, '');
}

/** @param {readonly Setting[]} settings */
function settingsSchema(settings) {
  const text = { type: ['string', 'number', 'boolean'] };
  return {
    ...closed(Object.fromEntries(settings.map(({ name, type }) => [name, settingSchema(type)]))),
    patternProperties: { '^DOG_STATSD_MOGRIFIER_[A-Za-z0-9_]+_(PATTERN|NAME|TAGS)$': text },
  };
}

/**
 * Types, and the ranges of numbers. Names and durations are left to the templates, whose message says what is allowed.
 * YAML 1.1 reads `off` as false, so names may be booleans. Null removes the default of the chart, so it fits every setting.
 *
 * @param {Setting['type']} type
 * @returns {Schema}
 */
function settingSchema({ accepts, form }) {
  const description = `${accepts[0]?.toUpperCase() ?? ''}${accepts.slice(1)}.`;
  switch (form.kind) {
    case 'boolean':
      return {
        description,
        enum: [true, false, 'true', 'false', 'TRUE', 'FALSE', 'True', 'False', 't', 'f', 'T', 'F', '1', '0', 1, 0, '', null],
      };
    case 'integer':
      return { description, type: ['integer', 'string', 'null'], minimum: form.min, maximum: form.max, pattern: '^([0-9]{1,16})?$' };
    case 'number':
      return {
        description,
        type: ['number', 'string', 'null'],
        minimum: form.min,
        maximum: form.max,
        pattern: '^([0-9]+\\.?[0-9]*|\\.[0-9]+)?$',
      };
    case 'name':
      return { description, type: ['string', 'boolean', 'null'] };
    case 'duration':
      return { description, type: ['string', 'integer', 'null'] };
    case 'text':
      return { description, type: ['string', 'number', 'boolean', 'null'] };
  }
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
