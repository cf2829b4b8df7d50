/** The line between two panes: drag it, or focus it and use the arrow keys; a double click puts it back. */
export function Splitter(props: {
  label: string;
  /** Thousandths of the window, of the pane before the line. */
  value: number;
  min: number;
  max: number;
  standard: number;
  onChange(value: number): void;
}) {
  const clamp = (value: number) => Math.round(Math.max(props.min, Math.min(props.max, value)));
  const drag = (event: PointerEvent & { currentTarget: HTMLElement }) => {
    const handle = event.currentTarget;
    handle.setPointerCapture(event.pointerId);
    const start = event.clientX;
    const from = props.value;
    const move = (next: PointerEvent) => {
      props.onChange(clamp(from + ((next.clientX - start) / window.innerWidth) * 1000));
    };
    const end = () => {
      handle.removeEventListener("pointermove", move);
      handle.removeEventListener("pointerup", end);
      handle.removeEventListener("pointercancel", end);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", end);
    handle.addEventListener("pointercancel", end);
    event.preventDefault();
  };
  return (
    <div
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={props.label}
      aria-valuenow={props.value}
      aria-valuemin={props.min}
      aria-valuemax={props.max}
      tabIndex="0"
      onPointerDown={drag}
      onDblClick={() => props.onChange(props.standard)}
      onKeyDown={(event) => {
        const step = event.shiftKey ? 50 : 10;
        if (event.key === "ArrowLeft") props.onChange(clamp(props.value - step));
        else if (event.key === "ArrowRight") props.onChange(clamp(props.value + step));
        else if (event.key === "Home") props.onChange(props.min);
        else if (event.key === "End") props.onChange(props.max);
        else return;
        event.preventDefault();
      }}
    />
  );
}
