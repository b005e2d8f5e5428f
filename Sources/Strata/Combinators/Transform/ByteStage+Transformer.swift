extension ByteStage {
    /// The stage as a transformer of levels that keep bytes: what is stored on the left, what is used on the right.
    public var transformer: TwoWayTransformer<[UInt8], [UInt8]> {
        TwoWayTransformer { [undo] in
            try undo($0, [])
        } inverse: { [apply] in
            try apply($0, [])
        }
    }
}
