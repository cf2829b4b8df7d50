//! Conversions between data layouts.

use crate::ops::{AttrField, AttrKind, AttrsSchema, OpInfo, OpPattern};

/// Attributes `relay.attrs.LayoutTransformAttrs`.
pub static LAYOUT_TRANSFORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.LayoutTransformAttrs",
    fields: &[AttrField::required("src_layout", AttrKind::Str), AttrField::required("dst_layout", AttrKind::Str)],
};

/// Attributes `relay.attrs.AutoSchedulerLayoutTransformAttrs`.
pub static AUTO_SCHEDULER_LAYOUT_TRANSFORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.AutoSchedulerLayoutTransformAttrs",
    fields: &[AttrField::required("src_layout", AttrKind::Str), AttrField::required("dst_layout", AttrKind::Str)],
};

/// Attributes `relay.attrs.MetaScheduleLayoutTransformAttrs`.
pub static META_SCHEDULE_LAYOUT_TRANSFORM: AttrsSchema = AttrsSchema {
    key: "relay.attrs.MetaScheduleLayoutTransformAttrs",
    fields: &[AttrField::required("index_map", AttrKind::Any)],
};

/// The operators of this family.
pub static OPS: &[OpInfo] = &[
    OpInfo {
        name: "layout_transform",
        doc: "Converts from one data layout to another, such as `NCHW` to `NCHW16c`. Extents that do not divide are padded with zeros.",
        args: &["data"],
        attrs: Some(&LAYOUT_TRANSFORM),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "auto_scheduler_layout_transform",
        doc: "A layout conversion with the axes written out, inserted by the auto-scheduler.",
        args: &["data"],
        attrs: Some(&AUTO_SCHEDULER_LAYOUT_TRANSFORM),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
    OpInfo {
        name: "meta_schedule_layout_transform",
        doc: "A layout conversion given by an index map, inserted by MetaSchedule.",
        args: &["data"],
        attrs: Some(&META_SCHEDULE_LAYOUT_TRANSFORM),
        pattern: Some(OpPattern::Injective),
        ..OpInfo::BASE
    },
];
