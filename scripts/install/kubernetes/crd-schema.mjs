/** Turns the OpenAPI schema of a CustomResourceDefinition into a JSON Schema that refuses unknown fields, as the API server's strict validation does. */

/** @typedef {{ [keyword: string]: unknown }} Schema */

/**
 * The part of a CustomResourceDefinition that is read.
 *
 * @typedef {object} Definition
 * @property {string} kind
 * @property {{ group: string, names: { kind: string }, versions: readonly { name: string, schema?: { openAPIV3Schema?: Schema } }[] }} spec
 */

/**
 * The schemas of a definition, by the file names that kubeconform looks for.
 *
 * @param {Definition} definition
 * @returns {ReadonlyMap<string, Schema>}
 */
export function schemasOf({ spec: { group, names, versions } }) {
  /** @type {Map<string, Schema>} */
  const schemas = new Map();
  for (const { name, schema } of versions) {
    if (schema?.openAPIV3Schema !== undefined)
      schemas.set(`${group}/${names.kind.toLowerCase()}_${name}.json`, objectOf(schema.openAPIV3Schema));
  }
  return schemas;
}

/**
 * The API server adds the fields of every object to a schema that leaves them out.
 *
 * @param {Schema} schema
 */
function objectOf(schema) {
  const { properties, ...rest } = schema;
  const everyObject = { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' } };
  return closed({ ...rest, properties: { ...everyObject, ...(isSchema(properties) ? properties : {}) } });
}

/**
 * Structural schemas hold every field outside of `anyOf` and its like, so those are left as they are.
 *
 * @param {Schema} schema
 * @returns {Schema}
 */
function closed(schema) {
  const { properties, additionalProperties, items, nullable, type, ...rest } = schema;
  /** @type {Schema} */
  const result = { ...rest };
  if (type !== undefined && schema['x-kubernetes-int-or-string'] !== true) result.type = nullable === true ? [type, 'null'] : type;
  if (isSchema(items)) result.items = closed(items);
  if (isSchema(additionalProperties)) result.additionalProperties = closed(additionalProperties);
  if (isSchema(properties)) {
    result.properties = Object.fromEntries(
      Object.entries(properties).map(([name, value]) => [name, isSchema(value) ? closed(value) : value]),
    );
    if (additionalProperties === undefined && schema['x-kubernetes-preserve-unknown-fields'] !== true) result.additionalProperties = false;
  }
  return result;
}

/**
 * @param {unknown} value
 * @returns {value is Schema}
 */
function isSchema(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
