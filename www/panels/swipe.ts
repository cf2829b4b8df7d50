/** Recognises horizontal swipes: -1 for to the left, 1 for to the right. */

/** Pixels that make a swipe, how much of it may go up or down, and how long it may take in milliseconds. */
const FAR = 60;
const SLANT = 0.5;
const QUICK = 600;

interface Point {
  x: number;
  y: number;
  at: number;
}

/** Returns the direction of a swipe from one point to another, or 0 if it is none. */
export function swipe(from: Point, to: Point): -1 | 0 | 1 {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  if (Math.abs(dx) < FAR || Math.abs(dy) > SLANT * Math.abs(dx) || to.at - from.at > QUICK)
    return 0;
  return dx < 0 ? -1 : 1;
}

/** Returns handlers for an element; ignores two fingers, which zoom. */
export function onSwipe(went: (way: -1 | 1) => void) {
  let from: Point | null = null;
  const point = (event: TouchEvent): Point | null => {
    const touch = event.changedTouches[0];
    return touch ? { x: touch.clientX, y: touch.clientY, at: event.timeStamp } : null;
  };
  return {
    start(event: TouchEvent): void {
      from = event.touches.length === 1 ? point(event) : null;
    },
    end(event: TouchEvent): void {
      const to = point(event);
      const way = from && to ? swipe(from, to) : 0;
      from = null;
      if (way) went(way);
    },
  };
}
