/** The peer's SETTINGS, as far as a server without push needs them. */

import { ConnectionError, ErrorCode } from '../frames/errors';
import { readUint32, type Frame } from '../frames/frames';

const SETTING_BYTES = 6;
const HEADER_TABLE_SIZE = 1;
const ENABLE_PUSH = 2;
const INITIAL_WINDOW_SIZE = 4;
const MAX_FRAME_SIZE = 5;

export const WINDOW_MAX = 2 ** 31 - 1;

const HEADER_TABLE_BYTES_DEFAULT = 4096;

const FRAME_BYTES_LEAST = 16_384;
const FRAME_BYTES_MOST = 2 ** 24 - 1;

export class PeerSettings {
  initialWindow = 65_535;
  frameBytesMax = FRAME_BYTES_LEAST;
  /** The smallest dynamic table that the peer has allowed for this server's encoder. */
  headerTableBytesLeast = HEADER_TABLE_BYTES_DEFAULT;

  /** @throws ConnectionError for an invalid value */
  apply({ bytes, start, end }: Frame): void {
    if ((end - start) % SETTING_BYTES !== 0) throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, 'SETTINGS of an odd length');
    for (let position = start; position < end; position += SETTING_BYTES) {
      this.set(((bytes[position] ?? 0) << 8) | (bytes[position + 1] ?? 0), readUint32(bytes, position + 2));
    }
  }

  private set(id: number, value: number): void {
    switch (id) {
      case HEADER_TABLE_SIZE:
        this.headerTableBytesLeast = Math.min(this.headerTableBytesLeast, value);
        return;
      case ENABLE_PUSH:
        if (value > 1) throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `SETTINGS_ENABLE_PUSH is ${value}`);
        return;
      case INITIAL_WINDOW_SIZE:
        if (value > WINDOW_MAX) throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, `SETTINGS_INITIAL_WINDOW_SIZE is ${value}`);
        this.initialWindow = value;
        return;
      case MAX_FRAME_SIZE:
        if (value < FRAME_BYTES_LEAST || value > FRAME_BYTES_MOST)
          throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, `SETTINGS_MAX_FRAME_SIZE is ${value}`);
        this.frameBytesMax = value;
        return;
      default:
        // Other settings concern push and streams opened by the server.
        return;
    }
  }
}
