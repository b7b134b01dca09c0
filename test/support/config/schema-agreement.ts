/** Compares the JSON Schema of a configuration with the compiler, on the text of a file. */

import { Ajv2020 } from 'ajv/dist/2020';
import { parseAllDocuments, type Document } from 'yaml';
import type { Level, Mistake } from '../../../src/configuration/compile/field-types/field';
import { LEVELS } from '../../../src/configuration/compile/fields/levels';
import { mistakesOf } from '../../../scripts/generate/docs/configuration-doc';
import { renderJsonSchema } from '../../../src/configuration/compile/schema/json-schema';
import { UNSEEN_FAULTS } from '../../../scripts/generate/docs/unseen-faults';

/** Longer texts are about size. */
const TEXT_LENGTH_MAX = 64 * 1024;

/** Without shorter code, which takes half of the time to compile: the texts are small, and each test file compiles the schema. */
const QUICK = { inlineRefs: false, code: { optimize: false } };

const ajv = new Ajv2020({ ...QUICK, strict: true, allowUnionTypes: true, strictRequired: false, strictTypes: false, allErrors: false });
const validate = ajv.compile(JSON.parse(renderJsonSchema()) as object);

/** What the schema says; undefined if the text is not one document of YAML, which editors report without a schema. */
export function schemaAccepts(text: string): boolean | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined;
  const [document, ...others] = parseAllDocuments(text, { merge: true, logLevel: 'error' });
  if (document === undefined || !('errors' in document) || document.errors.length > 0 || others.length > 0) return undefined;
  return validate(valueOf(document));
}

/** Undefined for aliases without an anchor and merges of text, which editors report, too: the schema refuses it. */
function valueOf(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: -1 });
  } catch {
    return undefined;
  }
}

/** The first errors of the schema, for a message. */
export function schemaErrors(): string {
  return ajv.errorsText(validate.errors, { dataVar: 'file' });
}

/** All mistakes of a level's fields. */
export function mistakesOfLevel({ entries }: Level): readonly Mistake[] {
  return entries.flatMap(([, field]) => mistakesOf(field));
}

const UNSEEN = [
  ...UNSEEN_FAULTS.map(({ says }) => says),
  ...LEVELS.flatMap(mistakesOfLevel)
    .filter(({ unseen }) => unseen !== undefined)
    .map(({ says }) => says.replace(/^"[^"]*"|^\d+/, '…')),
].map((says) => new RegExp(`^${says.split('…').map(escape).join('[^]*')}$`));

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Whether a schema cannot find the problem, as docs/configuration.md lists them. `message`: without its place. */
export function isUnseen(message: string): boolean {
  return UNSEEN.some((pattern) => pattern.test(message));
}

/** Throws if the schema and the compiler differ, except for problems that a schema cannot find. `messages`: of the compiler, without places. */
export function expectSchemaAgrees(text: string, messages: readonly string[]): void {
  const accepts = schemaAccepts(text);
  if (accepts === undefined) return;
  if (messages.length === 0 && !accepts) throw new Error(`the schema refuses a good file (${schemaErrors()}):\n${text}`);
  const seen = messages.filter((message) => !isUnseen(message));
  if (accepts && seen.length > 0) throw new Error(`the schema accepts a bad file (${seen.join('; ')}):\n${text}`);
}
