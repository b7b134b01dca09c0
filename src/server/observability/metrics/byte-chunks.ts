/** Builds a long text as chunks of bytes, so that it never exists as one string and is sent chunk by chunk. */

/** A connection sends a chunk of this length in about 20 µs. */
const CHUNK_CHARS = 32 * 1024;

export class ByteChunks {
  private readonly chunks: Buffer[] = [];
  private text = '';

  add(text: string): void {
    this.text += text;
    if (this.text.length >= CHUNK_CHARS) this.cut();
  }

  /** Returns all chunks. */
  end(): readonly Buffer[] {
    if (this.text !== '') this.cut();
    return this.chunks;
  }

  private cut(): void {
    this.chunks.push(Buffer.from(this.text));
    this.text = '';
  }
}
