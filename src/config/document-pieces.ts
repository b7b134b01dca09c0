/** A document in pieces, each of which takes a moment only to be sent and received. */

import type { ReadDocument } from './config-document';
import type { ConfigNode, ListNode, MapNode } from './config-node';

/** Nodes of a piece: so many take a millisecond to receive. */
const PIECE_NODES = 1_000;

/** The list that is long where a configuration is. */
const LONG_LIST = 'descriptors';

export type DocumentPiece =
  /** All of it, or all but the items of its long list. */
  | { readonly document: ReadDocument }
  /** More items of the long list of the last document. */
  | { readonly items: readonly ConfigNode[] };

export function* piecesOf(document: ReadDocument): Generator<DocumentPiece> {
  const list = longListOf(document);
  if (list === undefined || list.size <= PIECE_NODES) {
    yield { document };
    return;
  }
  yield { document: withItems(document, []) };
  let items: ConfigNode[] = [];
  let nodes = 0;
  for (const item of list.items) {
    items.push(item);
    nodes += item.size;
    if (nodes < PIECE_NODES) continue;
    yield { items };
    items = [];
    nodes = 0;
  }
  yield { items };
}

/** Puts pieces together, in the order in which they were made. */
export class PieceCollector {
  readonly documents: ReadDocument[] = [];
  private items: ConfigNode[] = [];

  add(piece: DocumentPiece): void {
    if ('document' in piece) {
      this.finish();
      this.documents.push(piece.document);
    } else {
      for (const item of piece.items) this.items.push(item);
    }
  }

  /** No more pieces come. */
  finish(): readonly ReadDocument[] {
    const last = this.documents.at(-1);
    if (last !== undefined && this.items.length > 0) this.documents[this.documents.length - 1] = withItems(last, this.items);
    this.items = [];
    return this.documents;
  }
}

function longListOf({ root }: ReadDocument): ListNode | undefined {
  const list = root?.kind === 'map' ? root.fields.get(LONG_LIST)?.value : undefined;
  return list?.kind === 'list' ? list : undefined;
}

/** The same document with these items in its long list; sizes are those of the whole either way. */
function withItems(document: ReadDocument, items: readonly ConfigNode[]): ReadDocument {
  const { root } = document;
  const list = longListOf(document);
  const field = root?.kind === 'map' ? root.fields.get(LONG_LIST) : undefined;
  if (root?.kind !== 'map' || list === undefined || field === undefined) return document;
  const fields = new Map(root.fields).set(LONG_LIST, { ...field, value: { ...list, items } });
  const whole: MapNode = { ...root, fields };
  return { ...document, root: whole };
}
