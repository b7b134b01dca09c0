/** A connection frees the memory of an unusually large write. */

import { FrameWriter } from '../../../../../src/server/transport/http2/frames/frame-writer';

test('memory for an unusually large write is freed', () => {
  const writer = new FrameWriter();
  writer.message(1, Buffer.alloc(4 * 1024 * 1024));
  const much = writer.take();
  writer.windowUpdate(0, 1);
  expect([much.length > 4 * 1024 * 1024, writer.take().buffer.byteLength]).toEqual([true, 8 * 1024]);
});

test('repeated frames are written after the earlier ones, in the same memory', () => {
  const writer = new FrameWriter();
  const pieces = Array.from({ length: 100 }, (_, i) => {
    writer.windowUpdate(0, i + 1);
    return writer.take();
  });
  expect(new Set(pieces.map(({ buffer }) => buffer)).size).toBe(1);
  expect(pieces.map((piece) => piece.readUInt32BE(9))).toEqual(pieces.map((_, i) => i + 1));
});
