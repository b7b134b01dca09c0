/** Splits texts into pieces, so that sending one to another thread or process, and receiving it, takes a short time. */

import type { ConfigDocument, ReadDocument } from './config-document';
import type { ConfigFile } from './yaml-text';

/** Characters of a piece: it is transferred in less than a millisecond. */
const PIECE_LENGTH = 1024 * 1024;

export interface TextPiece {
  /** Name of the text. */
  readonly name: string;
  readonly piece: string;
  readonly isLast: boolean;
}

/** Yields at least one piece. */
export function* piecesOf({ name, text }: ConfigFile): Generator<TextPiece> {
  let begin = 0;
  do {
    const end = begin + PIECE_LENGTH;
    yield { name, piece: text.slice(begin, end), isLast: end >= text.length };
    begin = end;
  } while (begin < text.length);
}

/** A piece of a document's text, or the whole document if it is already numbers and bytes. */
export type DocumentPart = TextPiece | { readonly document: ReadDocument };

export function* partsOf(document: ConfigDocument): Generator<DocumentPart> {
  if ('text' in document) yield* piecesOf(document);
  else yield { document };
}

/** Joins the pieces of texts, one text after another. */
export class TextCollector {
  private pieces: string[] = [];

  /** Returns the text when its last piece arrives. */
  add({ name, piece, isLast }: TextPiece): ConfigFile | undefined {
    this.pieces.push(piece);
    if (!isLast) return undefined;
    const text = this.pieces.join('');
    this.pieces = [];
    return { name, text };
  }
}

/** Joins the parts of documents, one document after another. */
export class DocumentCollector {
  private readonly texts = new TextCollector();
  private documents: ConfigDocument[] = [];

  add(part: DocumentPart): void {
    const document = 'document' in part ? part.document : this.texts.add(part);
    if (document !== undefined) this.documents.push(document);
  }

  /** Returns the complete documents and forgets them. */
  take(): readonly ConfigDocument[] {
    const { documents } = this;
    this.documents = [];
    return documents;
  }
}
