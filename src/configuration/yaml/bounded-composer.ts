/** Composes tokens to YAML documents with the library's composer, and stops it when it finds too many errors. */

import { Composer, type CST, type Document, type YAMLError } from 'yaml';

/** More errors than anyone reads. A file of the wrong kind has one on every line, and errors slow the composer down. */
export const YAML_ERRORS_MAX = 100;

/** Thrown for errors in over YAML_ERRORS_MAX places. */
export class TooManyErrorsError extends Error {
  /** In the order of the text. */
  readonly errors: readonly YAMLError[];

  constructor(errors: Iterable<YAMLError>) {
    super();
    this.errors = [...errors].sort((one, other) => one.pos[0] - other.pos[0]);
  }

  get lastOffset(): number {
    return this.errors.at(-1)?.pos[0] ?? 0;
  }
}

/**
 * The documents of a text of `length` characters, with their errors and warnings.
 *
 * @throws TooManyErrorsError
 */
export function* composeBounded(tokens: Iterable<CST.Token>, length: number): Generator<Document.Parsed, void> {
  // Failsafe: each scalar stays text until its field defines its type. The converter checks for duplicate keys, because
  // it names both lines.
  const composer = new Composer({ schema: 'failsafe', prettyErrors: false, uniqueKeys: false });
  const found = new Set<YAMLError>();
  boundErrors(composer, found);
  for (const token of tokens) {
    yield* composer.next(token);
    // Here the composer hands its lists to the document, and begins new ones.
    if (token.type === 'document' || token.type === 'doc-end') boundErrors(composer, found);
  }
  yield* composer.end(true, length);
}

/**
 * Bounds the lists in which the composer collects errors and warnings. A document is one token, and the composer continues after any
 * error: a few megabytes of the wrong kind took half a minute. The lists are the only public place where an error is seen at once.
 */
function boundErrors(composer: Composer, found: Set<YAMLError>): void {
  const { errors, warnings } = composer.streamInfo();
  for (const list of [errors, warnings]) {
    list.push = (...added) => {
      // The composer catches what this throws inside a collection, and adds it as another error.
      if (found.size <= YAML_ERRORS_MAX) for (const error of added) found.add(error);
      if (found.size > YAML_ERRORS_MAX) throw new TooManyErrorsError(found);
      return Array.prototype.push.apply(list, added);
    };
  }
}
